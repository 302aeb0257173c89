package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/test/limit"
)

// manyAtATime runs a command on nodes, several times on each, and checks that each process has run once.
func manyAtATime(ctx context.Context, c *cluster.Cluster, nodes, each int) error {
	res, err := c.Front.Exec(ctx, cluster.Alice, "bpsh", "--tasks-per-node", fmt.Sprint(each), fmt.Sprintf("0-%d", nodes-1), "sh", "-c", "echo $BPROC_RANK; exit 3")
	if err != nil || res.Code != 3 || res.Stderr != "" {
		return fmt.Errorf("got %+v, %w", res, err)
	}
	ranks := strings.Fields(res.Stdout)
	slices.Sort(ranks)
	var want []string
	for rank := range nodes * each {
		want = append(want, fmt.Sprintf("%07d", rank))
	}
	if !slices.Equal(ranks, want) {
		return fmt.Errorf("got ranks %q", ranks)
	}
	return nil
}

// TestManyWhileMastersDie ends the master again and again while processes are asked for together.
func TestManyWhileMastersDie(t *testing.T) {
	t.Parallel()
	const nodes, each = 2, 12
	c := cluster.Start(t, cluster.Config{Nodes: nodes})
	ctx, end := context.WithTimeout(t.Context(), limit.Scaled(2*time.Minute))
	defer end()
	load := func(int) error { return manyAtATime(ctx, c, nodes, each) }
	endMasters(t, c, 8, 300*time.Millisecond, load, load)
}

// TestManyWithFewDescriptors has a program that may open few files start many processes: it fails in words, or all run.
func TestManyWithFewDescriptors(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, files := range []int{24, 40, 64, 96, 1024} {
		res, err := c.Front.Exec(t.Context(), cluster.Alice, "sh", "-c", fmt.Sprintf("ulimit -n %d; exec bpsh --tasks-per-node 8 -a sh -c 'echo $BPROC_RANK'", files))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(res.Stdout, "\n")
		switch {
		case res.Code == 0 && res.Stderr == "" && lines == 32:
		case files == 1024, res.Code != 255, !strings.Contains(res.Stderr, "too many open files"):
			t.Errorf("%d files: got exit code %d, %d lines, %q", files, res.Code, lines, res.Stderr)
		}
		cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
	}
}
