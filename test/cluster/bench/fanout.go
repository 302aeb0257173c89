package main

import (
	"context"
	"fmt"
	"strings"
)

// defaultNodes is the number of nodes of the cluster for most figures.
const defaultNodes = 4

// Numbers of nodes for fanout.
const (
	manyNodes = 32
	mostNodes = 1000 // simulated ones
)

var fanoutFigures = []figure{
	{name: "fanout.32", unit: "ms", measure: fanout},
}

// fanout measures one command on all of many nodes.
func fanout(ctx context.Context, b *bench) (float64, error) {
	c, err := b.cluster(ctx, manyNodes)
	if err != nil {
		return 0, err
	}
	names, err := output(ctx, c.Front, "bpsh", "-a", "hostname")
	if err != nil {
		return 0, err
	}
	if got := strings.Count(names, "\n"); got != manyNodes {
		return 0, fmt.Errorf("%d nodes have said their names, want %d", got, manyNodes)
	}
	spawner, err := program("spawn.c")
	if err != nil {
		return 0, err
	}
	text, err := output(ctx, c.Front, spawner, "20", "1", "bpsh", "-a", "hostname")
	if err != nil {
		return 0, err
	}
	var micros float64
	_, err = fmt.Sscan(text, &micros)
	return micros / 1000, err
}

// fanoutEffort measures the processor time of the front end's daemons for each node of a command on
// many. The nodes are simulated, and the command ends at once.
func fanoutEffort(ctx context.Context, b *bench) (float64, error) {
	w, err := b.manyNodes(ctx)
	if err != nil {
		return 0, err
	}
	nodes := min(mostNodes, w.size)
	if _, err := w.nodes.Ask("brief"); err != nil {
		return 0, err
	}
	before, err := effortOf(w.cluster.Front, frontDaemons)
	if err != nil {
		return 0, err
	}
	if _, err := output(ctx, w.cluster.Front, "bpsh", fmt.Sprintf("0-%d", nodes-1), "true"); err != nil {
		return 0, err
	}
	after, err := effortOf(w.cluster.Front, frontDaemons)
	return after.minus(before).cpu / float64(nodes), err
}
