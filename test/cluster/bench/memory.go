package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"bproc/test/cluster"
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
		if used[i], err = memory(c.Front); err != nil {
			return 0, err
		}
		if err := client.say(); err != nil {
			return 0, err
		}
	}
	return (used[1] - used[0]) / idlers / 1024, nil
}

// memory returns the memory that the machine's control group is charged for, without the pages of
// files.
func memory(m *cluster.Machine) (float64, error) {
	for _, version := range []struct{ dir, usage, files, shared string }{
		{"/sys/fs/cgroup", "memory.current", "file", "shmem"},
		{"/sys/fs/cgroup/memory", "memory.usage_in_bytes", "total_cache", "total_shmem"},
	} {
		text, err := m.ReadFile(version.dir + "/" + version.usage)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		usage, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return 0, err
		}
		stat, err := m.ReadFile(version.dir + "/memory.stat")
		if err != nil {
			return 0, err
		}
		return usage - value(string(stat), version.files) + value(string(stat), version.shared), nil
	}
	return 0, errors.New("no control group for memory on this host (memory.current, memory.usage_in_bytes)")
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
