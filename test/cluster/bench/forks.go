package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"bproc/test/cluster"
)

// forkFigures are forks on all nodes at once, and the cost of remote forks to the front end:
// processor time of its whole machine, for one fork.
var forkFigures = []figure{
	{name: "fork.rate.native", unit: "forks/s", measure: forkRate(nativeOn)},
	{name: "fork.rate.4nodes", unit: "forks/s", base: "fork.rate.native", measure: forkRate(remoteOn)},
	{name: "fork.cpu.short", unit: "us", measure: shortLived},
	{name: "fork.cpu.long", unit: "us", measure: longLived},
}

// forkCount is the number of forks on each node.
const forkCount = 4000

func nativeOn(ctx context.Context, c *cluster.Cluster, node int, argv ...string) (string, error) {
	return output(ctx, c.Nodes[node], argv...)
}

func remoteOn(ctx context.Context, c *cluster.Cluster, node int, argv ...string) (string, error) {
	return output(ctx, c.Front, append([]string{"bpsh", strconv.Itoa(node)}, argv...)...)
}

// forkRate is the sum over all nodes, which fork at the same time.
func forkRate(on func(context.Context, *cluster.Cluster, int, ...string) (string, error)) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		c, err := b.cluster(ctx, defaultNodes)
		if err != nil {
			return 0, err
		}
		calls, err := program("calls.c")
		if err != nil {
			return 0, err
		}
		var group errgroup.Group
		rates := make([]float64, defaultNodes)
		for node := range defaultNodes {
			group.Go(func() error {
				text, err := on(ctx, c, node, calls, "fork", strconv.Itoa(forkCount))
				if err != nil {
					return err
				}
				var nanoseconds float64
				_, err = fmt.Sscan(text, &nanoseconds)
				rates[node] = 1e9 / nanoseconds
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
		sum := 0.0
		for _, r := range rates {
			sum += r
		}
		return sum, nil
	}
}

// shortLived measures children that end at once: the front end never hears of most of them.
func shortLived(ctx context.Context, b *bench) (float64, error) {
	return frontTime(ctx, b, forkCount, func(_ *cluster.Cluster, calls string) error {
		_, err := remote(ctx, b, calls, "fork", strconv.Itoa(forkCount))
		return err
	})
}

// longLived measures children that live until all have been born.
func longLived(ctx context.Context, b *bench) (float64, error) {
	return frontTime(ctx, b, idlers, func(c *cluster.Cluster, calls string) error {
		d, err := talk(c.Front.Command(ctx, cluster.Root, "bpsh", "0", calls, "children", strconv.Itoa(idlers)))
		if err != nil {
			return err
		}
		// All have ghosts when the line has come.
		return errors.Join(d.heard(), d.say(), d.end())
	})
}

// frontTime measures the processor time of the front end for each of count forks that do makes with
// the program calls, in microseconds.
func frontTime(ctx context.Context, b *bench, count float64, do func(c *cluster.Cluster, calls string) error) (float64, error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return 0, err
	}
	calls, err := program("calls.c")
	if err != nil {
		return 0, err
	}
	before, err := processorTime(c.Front)
	if err != nil {
		return 0, err
	}
	if err := do(c, calls); err != nil {
		return 0, err
	}
	after, err := processorTime(c.Front)
	return (after - before) / count / 1000, err
}

// processorTime returns the processor time of a machine so far, in nanoseconds.
func processorTime(m *cluster.Machine) (float64, error) {
	text, err := m.ReadFile("/sys/fs/cgroup/cpuacct/cpuacct.usage")
	if err == nil {
		return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if text, err = m.ReadFile("/sys/fs/cgroup/cpu.stat"); err != nil {
		return 0, fmt.Errorf("no control group for processor time on this host: %w", err)
	}
	return 1000 * value(string(text), "usage_usec"), nil
}
