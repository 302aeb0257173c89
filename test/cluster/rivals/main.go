package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == spawnArg {
		exit(spawn(os.Args[2:]))
	}
	var r rivals
	only := flag.String("only", "", "measure figures whose names match this `regexp`")
	flag.IntVar(&r.runs, "runs", 5, "`number` of runs, whose median is the value")
	flag.IntVar(&r.nodes, "nodes", 32, "`number` of nodes")
	flag.IntVar(&r.samples, "samples", 100, "`number` of commands in a run")
	flag.Int64Var(&r.bytes, "bytes", 2<<30, "`number` of bytes")
	flag.StringVar(&r.rsh, "rsh", "", "`directory` with the files of the packages of rsh and rshd")
	flag.Parse()
	var err error
	if r.only, err = regexp.Compile(*only); err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	err = errors.Join(r.run(ctx), cluster.Finish())
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// rivals is one run of the program.
type rivals struct {
	runs    int
	nodes   int
	samples int
	bytes   int64
	rsh     string
	only    *regexp.Regexp

	c *cluster.Cluster
}

// way is a command line that starts a command on a node; "@" is the number of the node.
type way struct {
	name string
	argv []string
}

// result is the result of one run of a figure.
type result struct {
	value  float64
	failed int
}

// figure is a column of a table.
type figure struct {
	name    string
	format  string
	ways    []way
	measure func(ctx context.Context, w way) (result, error)
}

func (r *rivals) run(ctx context.Context) (err error) {
	if r.c, err = cluster.New(ctx, cluster.Config{Nodes: r.nodes}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.c.Stop()) }()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for _, t := range r.tables() {
		t = slices.DeleteFunc(t, func(f figure) bool { return !r.only.MatchString(f.name) })
		if len(t) == 0 {
			continue
		}
		if err := r.table(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// table measures figures and prints them, one line per rival.
func (r *rivals) table(ctx context.Context, figures []figure) error {
	values := map[string][]float64{} // by rival and figure
	failed := map[string]int{}
	for range r.runs {
		for _, f := range figures {
			for _, w := range f.ways {
				got, err := f.measure(ctx, w)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", w.name, f.name, err)
				}
				key := w.name + "/" + f.name
				failed[key] += got.failed
				if got.value > 0 {
					values[key] = append(values[key], got.value)
				}
			}
		}
	}
	head, rule := "|", "|---|"
	for _, f := range figures {
		head += " | " + f.name
		rule += "---|"
	}
	fmt.Printf("load %s\n\n%s |\n%s\n", load(), head, rule)
	for _, w := range figures[0].ways {
		line := "| " + w.name
		for _, f := range figures {
			key := w.name + "/" + f.name
			cell := "-"
			if len(values[key]) > 0 {
				cell = fmt.Sprintf(f.format, median(values[key]))
			}
			if n := failed[key]; n > 0 {
				cell += fmt.Sprintf(", %d failed", n)
			}
			line += " | " + cell
		}
		fmt.Println(line + " |")
	}
	fmt.Println()
	return nil
}

// load returns the load of this machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// output runs a command in a machine and returns its output.
func output(ctx context.Context, m *cluster.Machine, argv ...string) (string, error) {
	res, err := m.Exec(ctx, cluster.Root, argv...)
	if err != nil {
		return "", err
	}
	if res.Code != 0 {
		return "", fmt.Errorf("%s: %v: exit code %d: %s", m.Name, argv, res.Code, res.Stderr)
	}
	return res.Stdout, nil
}

// has reports whether this machine has a command.
func has(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
