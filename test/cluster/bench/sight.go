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

// sight has many remote processes, as many native ones on a machine without remote ones, and shells
// that can list them. All processes are idle.
type sight struct {
	n              int
	machines       *cluster.Cluster
	view           *cluster.Daemon
	front          *cluster.Machine
	crowds         crowd
	native, inView *dialogue
	alone          float64 // memory of the server without the processes, in KiB

	// The very first listing of the processes, by a view that had done nothing before, and by one
	// that had prepared itself.
	cold, first struct{ native, inView, requests float64 }

	// The cost of preparing it; nil: the view is the lazy one.
	prepared *preparation
}

// viewDir is where bpns looks for the view.
const viewDir = "/run/bproc/proc"

// sightOf returns a sight of a size. There is one at a time, and nothing else has many processes.
func (b *bench) sightOf(ctx context.Context, n int) (*sight, error) {
	if b.sight != nil && b.sight.n == n {
		return b.sight, nil
	}
	return b.newSight(ctx, n)
}

// preparedSight is sightOf with a view in its default configuration. The other one is lazy.
func (b *bench) preparedSight(ctx context.Context, n int) (*sight, error) {
	w, err := b.sightOf(ctx, n)
	if err != nil || w.prepared != nil {
		return w, err
	}
	return w, w.prepare(ctx)
}

// newSight returns a sight whose processes were listed only once.
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
	b.sight = &sight{n: n, front: c.Front, machines: c}
	return b.sight, b.sight.gather(ctx, c)
}

func (w *sight) gather(ctx context.Context, c *cluster.Cluster) (err error) {
	if _, err := output(ctx, c.Front, "mkdir", "-p", viewDir); err != nil {
		return err
	}
	if w.view, err = c.Front.StartDaemon(ctx, true, "bpprocfs", "--lazy", viewDir); err != nil {
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

// close ends the processes, even if the context has ended.
func (w *sight) close(ctx context.Context) error {
	if w == nil {
		return nil
	}
	err := w.endView(ctx)
	if w.native != nil {
		err = errors.Join(err, w.native.end())
	}
	return errors.Join(err, w.crowds.close())
}

// endView ends the view, and the shell in it.
func (w *sight) endView(ctx context.Context) error {
	var errs []error
	if w.inView != nil {
		errs = append(errs, w.inView.end())
	}
	if w.view != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		errs = append(errs, w.view.Stop(ctx))
	}
	w.inView, w.view = nil, nil
	return errors.Join(errs...)
}

// run executes a command in a shell, and returns its time in milliseconds.
func (d *dialogue) run(command string) (float64, error) {
	begin := time.Now()
	if _, err := fmt.Fprintf(d.stdin, "%s >/dev/null; echo\n", command); err != nil {
		return 0, err
	}
	err := d.heard()
	return milliseconds(time.Since(begin)), err
}

// about returns the fields after a word in one of the server's files in /proc.
func (w *sight) about(file, word string) ([]string, error) {
	pid, err := w.view.PID()
	if err != nil {
		return nil, err
	}
	return about(w.front, pid, file, word)
}

// about returns the fields after a word in one of a process's files in /proc.
func about(m *cluster.Machine, pid int, file, word string) ([]string, error) {
	text, err := m.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(text), word)
	if !found {
		return nil, fmt.Errorf("%s of %d has no %s", file, pid, word)
	}
	return strings.Fields(rest), nil
}

// requests returns how often the server has read during an operation: once for each request of the
// kernel, and a few times messages of nodes.
func (w *sight) requests(do func() error) (float64, error) {
	before, err := w.reads()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := w.reads()
	return after - before, err
}

// reads returns how often the server has read so far.
func (w *sight) reads() (float64, error) {
	fields, err := w.about("io", "syscr:")
	if err != nil {
		return 0, err
	}
	return sum(fields[:1], nil)
}

// memory returns the memory of the server, in KiB.
func (w *sight) memory() (float64, error) {
	fields, err := w.about("status", "VmRSS:")
	if err != nil {
		return 0, err
	}
	return sum(fields[:1], nil)
}

// used returns the processor time of the server so far, in milliseconds.
func (w *sight) used() (float64, error) {
	pid, err := w.view.PID()
	if err != nil {
		return 0, err
	}
	return used(w.front, pid)
}

// used returns the processor time of a process so far, in milliseconds.
func used(m *cluster.Machine, pid int) (float64, error) {
	fields, err := about(m, pid, "stat", ") ")
	if err != nil {
		return 0, err
	}
	const user = 14 - 3 // utime and stime of proc_pid_stat(5), in ticks
	ticks, err := sum(fields[user:user+2], nil)
	return ticks * 10, err
}

// sum returns the sum of with minus the sum of without.
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
