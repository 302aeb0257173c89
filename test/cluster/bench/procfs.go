package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bproc/test/cluster"
)

// procfsFigures are programs that look at many processes: remote ones in the view of
// the front end, compared with as many native ones on another machine; and what the
// server of the view costs. All processes are idle. The view is asked for fresh data
// each time.
var procfsFigures = lookFigures()

// lookers are the programs.
var lookers = []struct{ name, command string }{
	{"ps.e", "ps -e"},
	{"ps.aux", "ps aux"},
	{"pgrep", "pgrep nosuchname"},
	{"top", "top -b -n1"},
}

func lookFigures() []figure {
	var all []figure
	for _, n := range []int{100, 1000, 10000} {
		for _, l := range lookers {
			base := fmt.Sprintf("%s.native.%d", l.name, n)
			all = append(all,
				figure{name: base, unit: "ms", measure: look(n, l.command, func(c *sight) *dialogue { return c.native })},
				figure{name: fmt.Sprintf("%s.%d", l.name, n), unit: "ms", base: base, measure: look(n, l.command, func(c *sight) *dialogue { return c.inView })})
		}
	}
	return append(all,
		figure{name: "procfs.memory", unit: "KiB", measure: viewMemory},
		figure{name: "procfs.idle", unit: "ms/s", measure: viewTime("sleep 1", 1)},
		figure{name: "procfs.top", unit: "ms/s", measure: viewTime("top -b -n4 -d1", 3)})
}

// sight is many remote processes, as many native ones, and shells that can look at
// them.
type sight struct {
	n              int
	view           *cluster.Daemon
	front          *cluster.Machine
	parents        [2]*dialogue
	native, inView *dialogue
}

// viewDir is where bpns looks for the view.
const viewDir = "/run/bproc/proc"

// sightOf returns one of a size; there is one at a time.
func (b *bench) sightOf(ctx context.Context, n int) (*sight, error) {
	if b.sight != nil && b.sight.n == n {
		return b.sight, nil
	}
	if err := b.sight.close(ctx); err != nil {
		return nil, err
	}
	b.sight = nil
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return nil, err
	}
	calls, err := program("calls.c")
	if err != nil {
		return nil, err
	}
	b.sight = &sight{n: n, front: c.Front}
	return b.sight, b.sight.gather(ctx, c, calls)
}

func (w *sight) gather(ctx context.Context, c *cluster.Cluster, calls string) error {
	children := []string{calls, "children", strconv.Itoa(w.n)}
	for i, cmd := range []*cluster.Cmd{
		c.Nodes[0].Command(ctx, cluster.Root, children...),
		c.Front.Command(ctx, cluster.Root, append([]string{"bpsh", "1"}, children...)...),
	} {
		d, err := talk(cmd)
		if err != nil {
			return err
		}
		if w.parents[i] = d; d.heard() != nil {
			return fmt.Errorf("%v: no children", cmd.Args)
		}
	}
	if _, err := output(ctx, c.Front, "mkdir", "-p", viewDir); err != nil {
		return err
	}
	var err error
	if w.view, err = c.Front.StartDaemon(ctx, true, "bpprocfs", viewDir); err != nil {
		return err
	}
	if w.native, err = talk(c.Nodes[0].Command(ctx, cluster.Root, "sh")); err != nil {
		return err
	}
	if w.inView, err = talk(c.Front.Command(ctx, cluster.Root, "bpns", "sh")); err != nil {
		return err
	}
	// The first look of all is another thing.
	for _, l := range lookers {
		if err := w.inView.run(l.command); err != nil {
			return err
		}
	}
	return nil
}

// close ends them, also when the context has ended.
func (w *sight) close(ctx context.Context) error {
	if w == nil {
		return nil
	}
	var errs []error
	for _, d := range w.parents {
		if d != nil {
			errs = append(errs, d.say(), d.end()) // it ends its children when it is told
		}
	}
	for _, d := range []*dialogue{w.native, w.inView} {
		if d != nil {
			errs = append(errs, d.end())
		}
	}
	if w.view != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		errs = append(errs, w.view.Stop(ctx))
	}
	return errors.Join(errs...)
}

// run has a shell execute a command.
func (d *dialogue) run(command string) error {
	if _, err := fmt.Fprintf(d.stdin, "%s >/dev/null; echo\n", command); err != nil {
		return err
	}
	return d.heard()
}

// look is the time that a program takes, when nobody has looked for longer than what
// was seen then holds.
func look(n int, command string, in func(*sight) *dialogue) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.sightOf(ctx, n)
		if err != nil {
			return 0, err
		}
		time.Sleep(time.Second)
		start := time.Now()
		err = in(w).run(command)
		return float64(time.Since(start).Microseconds()) / 1000, err
	}
}

// viewMemory is what the server of the view has for each of 10000 processes.
func viewMemory(ctx context.Context, b *bench) (float64, error) {
	w, err := b.sightOf(ctx, 10000)
	if err != nil {
		return 0, err
	}
	pid, err := w.view.PID()
	if err != nil {
		return 0, err
	}
	status, err := w.front.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rss + " none")[0], 64)
	return kib / 10000, err
}

// viewTime is the processor time of the server in each of some seconds, while a command
// runs among 10000 processes.
func viewTime(command string, seconds float64) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		w, err := b.sightOf(ctx, 10000)
		if err != nil {
			return 0, err
		}
		before, err := w.used()
		if err != nil {
			return 0, err
		}
		if err := w.inView.run(command); err != nil {
			return 0, err
		}
		after, err := w.used()
		return (after - before) / seconds, err
	}
}

// used is the processor time of the server so far, in milliseconds.
func (w *sight) used() (float64, error) {
	pid, err := w.view.PID()
	if err != nil {
		return 0, err
	}
	stat, err := w.front.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat)) // its name has no blanks
	var ticks float64
	for _, f := range fields[13:15] { // utime and stime of proc_pid_stat(5)
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0, err
		}
		ticks += v
	}
	return ticks * 10, nil
}
