package main

import (
	"context"
	"fmt"
	"strings"
)

// defaultNodes is the number of nodes of the cluster for most figures.
const defaultNodes = 4

// manyNodes is the number of nodes for fanout.
const manyNodes = 32

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
