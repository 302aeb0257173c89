package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bproc/test/cluster"
)

// figure is one line of the results.
type figure struct {
	name string
	unit string
	base string // the figure to compare it with; empty: none
	runs int    // how many; 0: as many as are asked for
	// measure makes one run.
	measure func(ctx context.Context, b *bench) (float64, error)
}

// figures are all of them, in the order of the output. A base is before what
// is compared with it.
var figures = slices.Concat(startFigures, restartFigures, fanoutFigures, ioFigures, signalFigures, memoryFigures, callFigures, forkFigures, crowdFigures, procfsFigures)

// bench is one run of the program.
type bench struct {
	runs     int
	out      io.Writer
	done     map[string]bool          // what was measured
	clusters map[int]*cluster.Cluster // by number of nodes
	away     *far
	many     *crowd
	sight    *sight
}

// run measures the figures whose names match.
func (b *bench) run(ctx context.Context, names *regexp.Regexp) error {
	for _, f := range figures {
		if !names.MatchString(f.name) {
			continue
		}
		if err := b.figure(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// figure measures f, unless it was. Each run is beside one of its base, so that
// what else the machine does falls on both; the ratio is the median of theirs.
func (b *bench) figure(ctx context.Context, f figure) error {
	if b.done[f.name] {
		return nil
	}
	b.done[f.name] = true
	base := slices.IndexFunc(figures, func(g figure) bool { return g.name == f.base })
	if base >= 0 {
		if err := b.figure(ctx, figures[base]); err != nil {
			return err
		}
	}
	var values, ratios []float64
	for range cmp.Or(f.runs, b.runs) {
		of := 0.0
		if base >= 0 {
			var err error
			if of, err = figures[base].once(ctx, b); err != nil {
				return err
			}
		}
		v, err := f.once(ctx, b)
		if err != nil {
			return err
		}
		values, ratios = append(values, v), append(ratios, v/of)
	}
	line := fmt.Sprintf("bench %s %.4g %s", f.name, median(values), f.unit)
	if base >= 0 {
		line += fmt.Sprintf(" x%.2f of %s", median(ratios), f.base)
	}
	_, err := fmt.Fprintln(b.out, line)
	return err
}

// once makes one run.
func (f figure) once(ctx context.Context, b *bench) (float64, error) {
	v, err := f.measure(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.name, err)
	}
	return v, nil
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// cluster returns the cluster of so many nodes.
func (b *bench) cluster(ctx context.Context, nodes int) (*cluster.Cluster, error) {
	if c := b.clusters[nodes]; c != nil {
		return c, nil
	}
	c, err := cluster.New(ctx, cluster.Config{Nodes: nodes})
	if err == nil {
		b.clusters[nodes] = c
	}
	return c, err
}

func (b *bench) close(ctx context.Context) error {
	errs := []error{b.sight.close(ctx), b.away.close(), b.many.close()}
	for _, c := range b.clusters {
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}

// program compiles one of the C programs in testdata. The benchmarks run in
// their module (make bench).
func program(name string, flags ...string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "bproc/test/cluster/bench").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	return cluster.Compile(filepath.Join(strings.TrimSpace(string(out)), "testdata", name), flags...)
}

// output runs a command in a machine and returns what it prints.
func output(ctx context.Context, m *cluster.Machine, argv ...string) (string, error) {
	res, err := m.Exec(ctx, cluster.Root, argv...)
	if err != nil {
		return "", err
	}
	if res.Code != 0 || res.Stderr != "" {
		return "", fmt.Errorf("%s: %v: exit code %d: %s", m.Name, argv, res.Code, res.Stderr)
	}
	return res.Stdout, nil
}
