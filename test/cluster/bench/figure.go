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
	runs int    // number of runs; 0: the default
	// measure makes one run.
	measure func(ctx context.Context, b *bench) (float64, error)
}

// allFigures returns all figures, in the order of the output. A base comes before the figures that
// are compared with it. Sizes are the numbers of processes for programs that list them, and nodes
// is the number of simulated nodes.
func allFigures(sizes []int, nodes int) []figure {
	return slices.Concat(startFigures, hostileFigures, restartFigures, jobFigures, fanoutFigures, copyFigures, ioFigures, signalFigures, memoryFigures, callFigures, forkFigures, crowdFigures, nodesFigures(nodes), lookFigures(sizes))
}

// bench is one run of the program.
type bench struct {
	runs     int
	out      io.Writer
	figures  []figure
	done     map[string]bool          // figures that were printed
	clusters map[int]*cluster.Cluster // by number of nodes
	away     *far
	many     *crowd
	nodes    int // simulated
	crew     *crew
	sight    *sight
	copies   *copies
	serves   bool // the first of the default nodes has an ssh server
}

// run measures the figures whose names match.
func (b *bench) run(ctx context.Context, names *regexp.Regexp) error {
	for _, f := range b.figures {
		if !names.MatchString(f.name) || f.base == "" && slices.ContainsFunc(b.figures, func(g figure) bool {
			return g.base == f.name && names.MatchString(g.name) // f is measured with g
		}) {
			continue
		}
		if err := b.figure(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// figure measures f. Each run alternates with one of its base, so that other load of the machine
// affects both; the ratio is the median of theirs. The base is a figure, too.
func (b *bench) figure(ctx context.Context, f figure) error {
	base := slices.IndexFunc(b.figures, func(g figure) bool { return g.name == f.base })
	var values, ofs, ratios []float64
	for range cmp.Or(f.runs, b.runs) {
		of := 0.0
		if base >= 0 {
			var err error
			if of, err = b.figures[base].once(ctx, b); err != nil {
				return err
			}
		}
		v, err := f.once(ctx, b)
		if err != nil {
			return err
		}
		values, ofs, ratios = append(values, v), append(ofs, of), append(ratios, v/of)
	}
	if base < 0 {
		return b.print(f, values, "")
	}
	if !b.done[f.base] {
		if err := b.print(b.figures[base], ofs, ""); err != nil {
			return err
		}
	}
	return b.print(f, values, fmt.Sprintf(" x%.2f of %s", median(ratios), f.base))
}

// print prints the line of a figure.
func (b *bench) print(f figure, values []float64, ratio string) error {
	b.done[f.name] = true
	_, err := fmt.Fprintf(b.out, "bench %s %.4g %s%s\n", f.name, median(values), f.unit, ratio)
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

// cluster returns the cluster with a number of nodes.
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
	errs := []error{b.sight.close(ctx), b.away.close(), b.many.close(), b.crew.close()}
	for _, c := range b.clusters {
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}

// program compiles one of the C programs in testdata. The benchmarks run in their module (make
// bench).
func program(name string, flags ...string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "bproc/test/cluster/bench").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	return cluster.Compile(filepath.Join(strings.TrimSpace(string(out)), "testdata", name), flags...)
}

// output runs a command in a machine and returns its output.
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
