package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"bproc/internal/client"
	"bproc/procfs"
	"bproc/procfs/nodes"
	"bproc/test/cluster"
	"bproc/wire"
)

// crowdFigures are the costs of knowing 10,000 idle processes: of being told all of them, and of
// being told that none has changed.
var crowdFigures = []figure{
	{name: "crowd.first", unit: "ms", measure: func(ctx context.Context, b *bench) (float64, error) { return b.refresh(ctx, false) }},
	{name: "crowd.refresh", unit: "ms", measure: func(ctx context.Context, b *bench) (float64, error) { return b.refresh(ctx, true) }},
}

// crowdSize is the number of processes on all nodes together.
const crowdSize = 10000

// crowd has idle processes, the children of a few programs.
type crowd struct{ programs []*dialogue }

// start starts a program with a number of children.
func (c *crowd) start(ctx context.Context, m *cluster.Machine, size int, launcher ...string) error {
	path, err := program("crowd.c", "-static")
	if err != nil {
		return err
	}
	d, err := talk(m.Command(ctx, cluster.Root, append(launcher, path, strconv.Itoa(size))...))
	if err != nil {
		return err
	}
	c.programs = append(c.programs, d)
	return d.heard()
}

// spread starts a number of processes on some nodes together.
func (c *crowd) spread(ctx context.Context, front *cluster.Machine, size int, nodes ...int) error {
	for i, node := range nodes {
		share := size*(i+1)/len(nodes) - size*i/len(nodes)
		if err := c.start(ctx, front, share, "bpsh", strconv.Itoa(node)); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, d := range c.programs {
		errs = append(errs, d.end())
	}
	return errors.Join(errs...)
}

// crowded returns the cluster when the processes run.
func (b *bench) crowded(ctx context.Context) (*cluster.Cluster, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil || b.many != nil {
		return c, err
	}
	if err := b.sight.close(ctx); err != nil {
		return nil, err
	}
	b.sight = nil
	if err := b.roomFor(2 * crowdSize); err != nil {
		return nil, err
	}
	b.many = &crowd{}
	return c, b.many.spread(ctx, c.Front, crowdSize, 0, 1, 2, 3)
}

// pause is the time between two questions to a node: long enough that the second is not answered
// with the results of the first.
const pause = time.Second

// refresh measures a Refresh of a new viewer, the first or a later one.
func (b *bench) refresh(ctx context.Context, later bool) (_ float64, err error) {
	c, err := b.crowded(ctx)
	if err != nil {
		return 0, err
	}
	socket, err := c.Front.Path("/run/bproc/master.sock")
	if err != nil {
		return 0, err
	}
	path, err := c.Front.Path("/proc")
	if err != nil {
		return 0, err
	}
	proc, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer proc.Close()
	source, err := nodes.New(&client.Client{Socket: socket}, proc, slog.Default())
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = source.Run(ctx) }) // Refresh reports errors
	begin := time.Now()
	if err := whole(ctx, source); err != nil || !later {
		return milliseconds(time.Since(begin)), err
	}
	time.Sleep(pause)
	begin = time.Now()
	err = source.Refresh(ctx, false, func(procfs.Changes) {})
	return milliseconds(time.Since(begin)), err
}

// whole refreshes until all processes are known.
func whole(ctx context.Context, source procfs.Source) error {
	known := map[wire.PID]bool{}
	for len(known) < crowdSize {
		err := source.Refresh(ctx, false, func(c procfs.Changes) {
			for _, p := range c.Changed {
				known[p.PID] = true
			}
		})
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
