package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"bproc/test/cluster"
)

// effort is the work of the daemons of a cluster so far.
type effort struct {
	cpu      float64 // processor time, ms
	switches float64 // context switches, voluntary and involuntary
}

// frontDaemons and nodeDaemons are the programs on each kind of machine that are measured.
var (
	frontDaemons = []string{"bpmaster", "bpkeeper"}
	nodeDaemons  = []string{"bpslave", "bproc-init"}
)

// efforts returns the sum over all daemons.
func efforts(c *cluster.Cluster) (effort, error) {
	all, err := effortOf(c.Front, frontDaemons)
	if err != nil {
		return effort{}, err
	}
	for _, m := range c.Nodes {
		e, err := effortOf(m, nodeDaemons)
		if err != nil {
			return effort{}, err
		}
		all = all.plus(e)
	}
	return all, nil
}

// effortOf returns the sum over the daemons of a machine, each of which must run.
func effortOf(m *cluster.Machine, names []string) (all effort, err error) {
	for _, name := range names {
		daemons, err := m.Named(name)
		if err != nil {
			return effort{}, err
		}
		if len(daemons) == 0 {
			return effort{}, fmt.Errorf("%s has no %s", m.Name, name)
		}
		for _, d := range daemons {
			e, err := effortOfProcess(m, d.PID)
			if err != nil {
				return effort{}, err
			}
			all = all.plus(e)
		}
	}
	return all, nil
}

// effortOfProcess returns the sum over the present threads of a process.
func effortOfProcess(m *cluster.Machine, pid int) (all effort, err error) {
	dir, err := m.Path(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return effort{}, err
	}
	threads, err := os.ReadDir(dir)
	if err != nil {
		return effort{}, err
	}
	for _, t := range threads {
		e, err := effortOfThread(dir + "/" + t.Name())
		if err != nil {
			return effort{}, err
		}
		all = all.plus(e)
	}
	return all, nil
}

// effortOfThread reads proc_pid_schedstat(5), in nanoseconds, and proc_pid_status(5).
func effortOfThread(dir string) (effort, error) {
	sched, err := os.ReadFile(dir + "/schedstat")
	if err != nil {
		return effort{}, err
	}
	run, _, _ := strings.Cut(string(sched), " ")
	ns, err := strconv.ParseFloat(run, 64)
	if err != nil {
		return effort{}, fmt.Errorf("%s/schedstat: %w", dir, err)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return effort{}, err
	}
	switches := value(string(status), "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:")
	return effort{ns / 1e6, switches}, nil
}

func (e effort) plus(other effort) effort {
	return effort{e.cpu + other.cpu, e.switches + other.switches}
}

func (e effort) minus(other effort) effort {
	return effort{e.cpu - other.cpu, e.switches - other.switches}
}

// spent returns the work of the daemons of a cluster for an operation.
func spent(c *cluster.Cluster, something func() error) (effort, error) {
	before, err := efforts(c)
	if err != nil {
		return effort{}, err
	}
	if err := something(); err != nil {
		return effort{}, err
	}
	after, err := efforts(c)
	return after.minus(before), err
}

// startEffort measures the daemons' work for one command while nothing else happens.
func startEffort(of func(effort) float64) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		done, err := spent(c, func() error {
			_, _, err := spawn(ctx, b, defaultNodes, 1, "bpsh", "0", "true")
			return err
		})
		return of(done) / samples, err
	}
}

// streamEffort measures the daemons' work for the volume of bytes of a shell line, in seconds.
func streamEffort(line string) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		done, err := spent(c, func() error {
			_, err := throughBpsh(line)(ctx, b)
			return err
		})
		return done.cpu / 1000, err
	}
}
