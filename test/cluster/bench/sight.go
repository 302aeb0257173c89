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

// sight is many remote processes, as many native ones on a machine without remote ones,
// and shells that can look at them. All processes are idle.
type sight struct {
	n              int
	view           *cluster.Daemon
	front          *cluster.Machine
	crowds         crowd
	native, inView *dialogue
	alone          float64 // memory of the server without the processes, in KiB

	// What the first look of all at the processes took.
	cold struct{ native, inView, requests float64 }
}

// viewDir is where bpns looks for the view.
const viewDir = "/run/bproc/proc"

// sightOf returns one of a size. There is one at a time, and nothing else that has many
// processes.
func (b *bench) sightOf(ctx context.Context, n int) (*sight, error) {
	if b.sight != nil && b.sight.n == n {
		return b.sight, nil
	}
	return b.newSight(ctx, n)
}

// newSight returns one whose processes nobody has looked at but once.
func (b *bench) newSight(ctx context.Context, n int) (*sight, error) {
	if err := errors.Join(b.sight.close(ctx), b.many.close()); err != nil {
		return nil, err
	}
	b.sight, b.many = nil, nil
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return nil, err
	}
	if err := b.roomFor(3 * n); err != nil { // each remote process has a ghost
		return nil, err
	}
	b.sight = &sight{n: n, front: c.Front}
	return b.sight, b.sight.gather(ctx, c)
}

func (w *sight) gather(ctx context.Context, c *cluster.Cluster) (err error) {
	if _, err := output(ctx, c.Front, "mkdir", "-p", viewDir); err != nil {
		return err
	}
	if w.view, err = c.Front.StartDaemon(ctx, true, "bpprocfs", viewDir); err != nil {
		return err
	}
	if w.native, err = talk(c.Nodes[0].Command(ctx, cluster.Root, "sh")); err != nil {
		return err
	}
	if w.inView, err = talk(c.Front.Command(ctx, cluster.Root, "bpns", "sh")); err != nil {
		return err
	}
	for _, shell := range []*dialogue{w.native, w.inView} {
		for _, l := range lookers { // so that the programs are in memory
			if _, err := shell.run(l.command); err != nil {
				return err
			}
		}
	}
	if w.alone, err = w.memory(); err != nil {
		return err
	}
	if err := w.crowds.start(ctx, c.Nodes[0], w.n); err != nil {
		return err
	}
	if err := w.crowds.spread(ctx, c.Front, w.n, 1, 2, 3); err != nil {
		return err
	}
	return w.first()
}

// first looks at all processes for the first time.
func (w *sight) first() (err error) {
	time.Sleep(pause)
	if w.cold.native, err = w.native.run(coldLook); err != nil {
		return err
	}
	w.cold.requests, err = w.requests(func() error {
		w.cold.inView, err = w.inView.run(coldLook)
		return err
	})
	return err
}

// close ends them, also when the context has ended.
func (w *sight) close(ctx context.Context) error {
	if w == nil {
		return nil
	}
	var errs []error
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
	return errors.Join(append(errs, w.crowds.close())...)
}

// run has a shell execute a command, and returns how long that takes in milliseconds.
func (d *dialogue) run(command string) (float64, error) {
	begin := time.Now()
	if _, err := fmt.Fprintf(d.stdin, "%s >/dev/null; echo\n", command); err != nil {
		return 0, err
	}
	err := d.heard()
	return milliseconds(time.Since(begin)), err
}

// about returns the fields that one of the server's files in /proc has from a word on.
func (w *sight) about(file, word string) ([]string, error) {
	pid, err := w.view.PID()
	if err != nil {
		return nil, err
	}
	text, err := w.front.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(text), word)
	if !found {
		return nil, fmt.Errorf("%s of the server has no %s", file, word)
	}
	return strings.Fields(rest), nil
}

// requests returns how often the server has read while something is done: once for each
// request of the kernel, and a few times what nodes tell.
func (w *sight) requests(do func() error) (float64, error) {
	const reads = "syscr:"
	before, err := w.about("io", reads)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := w.about("io", reads)
	if err != nil {
		return 0, err
	}
	return sum(after[:1], before[:1])
}

// memory returns what the server has, in KiB.
func (w *sight) memory() (float64, error) {
	fields, err := w.about("status", "VmRSS:")
	if err != nil {
		return 0, err
	}
	return sum(fields[:1], nil)
}

// used returns the processor time of the server so far, in milliseconds.
func (w *sight) used() (float64, error) {
	fields, err := w.about("stat", ") ")
	if err != nil {
		return 0, err
	}
	const user = 14 - 3 // utime and stime of proc_pid_stat(5), in ticks
	ticks, err := sum(fields[user:user+2], nil)
	return ticks * 10, err
}

// sum returns the sum of some numbers without that of others.
func sum(with, without []string) (total float64, err error) {
	for i, list := range [][]string{with, without} {
		for _, text := range list {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return 0, err
			}
			if i == 1 {
				v = -v
			}
			total += v
		}
	}
	return total, nil
}
