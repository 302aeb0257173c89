package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// memoryFigures are the cost of an idle remote process to the front end.
//
// The front end of the cluster is a machine with a control group of its own, so the kernel itself
// separates its memory from that of the nodes, although all are on one host. The group is charged
// for the memory of master, keeper, client and ghosts, and for the kernel's allocations for them
// (stacks, page tables, task structures, sockets). Pages of files are excluded; they are shared,
// and can be dropped. The figure is the increase by the processes, divided by their number.
var memoryFigures = []figure{
	{name: "memory.frontend", unit: "KiB", measure: frontMemory},
}

// idlers is the number of processes of one client.
const idlers = 1000

func frontMemory(ctx context.Context, b *bench) (_ float64, err error) {
	c, err := b.cluster(ctx, defaultNodes)
	if err != nil {
		return 0, err
	}
	client, err := holdIdle(ctx, c, idlers)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.end()) }()
	var used [2]float64
	for i := range used {
		if err := client.heard(); err != nil {
			return 0, err
		}
		if used[i], err = c.Front.Charged(); err != nil {
			return 0, err
		}
		if err := client.say(); err != nil {
			return 0, err
		}
	}
	return (used[1] - used[0]) / idlers / 1024, nil
}

// value returns the sum of the numbers in the lines of text that begin with one of names.
func value(text string, names ...string) (total float64) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains(names, words[0]) {
			continue
		}
		if v, err := strconv.ParseFloat(words[1], 64); err == nil {
			total += v
		}
	}
	return total
}
