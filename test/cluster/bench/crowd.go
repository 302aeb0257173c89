package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"bproc"
	"bproc/procfs"
	"bproc/procfs/nodes"
	"bproc/test/cluster"
)

// crowdFigures are what it takes to know 10,000 processes that do nothing: to be told all
// of them, and to be told that none has changed.
var crowdFigures = []figure{
	{name: "crowd.first", unit: "ms", measure: func(ctx context.Context, b *bench) (float64, error) { return b.refresh(ctx, false) }},
	{name: "crowd.refresh", unit: "ms", measure: func(ctx context.Context, b *bench) (float64, error) { return b.refresh(ctx, true) }},
}

// crowdSize is the number of processes on all nodes together.
const crowdSize = 10000

// crowd is processes that do nothing, on all nodes.
type crowd struct {
	front   *cluster.Machine
	members []member
}

// member is a command that has many children.
type member struct {
	cmd   *cluster.Cmd
	stdin io.Closer // it ends them with its own
}

// crowded returns the cluster when the processes run.
func (b *bench) crowded(ctx context.Context) (*crowd, error) {
	if b.many != nil {
		return b.many, nil
	}
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return nil, err
	}
	program, err := program("crowd.c")
	if err != nil {
		return nil, err
	}
	b.many = &crowd{front: c.Front}
	for node := range defaultNodes {
		if err := b.many.start(ctx, strconv.Itoa(node), program); err != nil {
			return nil, err
		}
	}
	return b.many, nil
}

func (c *crowd) start(ctx context.Context, node, program string) error {
	cmd := c.front.Command(ctx, cluster.Root, "bpsh", node, program, strconv.Itoa(crowdSize/defaultNodes))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	c.members = append(c.members, member{cmd, stdin})
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		return fmt.Errorf("processes of node %s: %w", node, err)
	}
	return nil
}

func (c *crowd) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.stdin.Close(), m.cmd.Wait())
	}
	return errors.Join(errs...)
}

// pause is between two questions to a node: long enough that the second is not answered
// from what the first has found out.
const pause = time.Second

// refresh measures a Refresh of a new viewer, the first or a later one.
func (b *bench) refresh(ctx context.Context, later bool) (_ float64, err error) {
	c, err := b.crowded(ctx)
	if err != nil {
		return 0, err
	}
	socket, err := c.front.Path("/run/bproc/master.sock")
	if err != nil {
		return 0, err
	}
	path, err := c.front.Path("/proc")
	if err != nil {
		return 0, err
	}
	proc, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer proc.Close()
	source, err := nodes.New(&bproc.Client{Socket: socket}, proc, slog.Default())
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = source.Run(ctx) }) // what goes wrong, Refresh tells
	begin := time.Now()
	if err := whole(ctx, source); err != nil || !later {
		return milliseconds(time.Since(begin)), err
	}
	time.Sleep(pause)
	begin = time.Now()
	_, err = source.Refresh(ctx)
	return milliseconds(time.Since(begin)), err
}

// whole refreshes until all processes are known.
func whole(ctx context.Context, source procfs.Source) error {
	for known := 0; known < crowdSize; {
		changes, err := source.Refresh(ctx)
		if err != nil {
			return err
		}
		known += len(changes.Changed)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
