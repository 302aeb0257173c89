package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// loss is a way of losing a node that its processes survive at first.
type loss struct {
	name    string
	lose    func(t *testing.T, c *cluster.Cluster, node int)
	restore func(t *testing.T, c *cluster.Cluster, node int)
}

var losses = []loss{
	{"link cut", func(t *testing.T, c *cluster.Cluster, node int) {
		if err := c.Cut(node); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, c *cluster.Cluster, node int) {
		if err := c.Heal(node); err != nil {
			t.Fatal(err)
		}
	}},
	{"daemon killed", func(t *testing.T, c *cluster.Cluster, node int) {
		if err := c.Slaves[node].Kill(); err != nil {
			t.Fatal(err)
		}
	}, startSlaveAgain},
	{"daemon stopped", func(t *testing.T, c *cluster.Cluster, node int) {
		if err := c.Slaves[node].Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, c *cluster.Cluster, node int) {
		if err := c.Slaves[node].Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}},
	{"link cut and init stopped", func(t *testing.T, c *cluster.Cluster, node int) {
		stopInit(t, c.Nodes[node])
		if err := c.Cut(node); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, c *cluster.Cluster, node int) {
		if err := c.Heal(node); err != nil {
			t.Fatal(err)
		}
		if err := c.Slaves[node].AwaitEnd(); err != nil { // it has nothing left to serve
			t.Fatal(err)
		}
		startSlaveAgain(t, c, node)
	}},
}

func startSlaveAgain(t *testing.T, c *cluster.Cluster, node int) {
	t.Helper()
	if err := c.StartSlave(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

// stopInit stops the init of a node's process space.
func stopInit(t *testing.T, node *cluster.Machine) {
	t.Helper()
	all, err := node.Procs()
	if err != nil {
		t.Fatal(err)
	}
	stopped := 0
	for _, p := range all {
		if p.Space == 1 {
			if err := node.Kill(p.PID, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			stopped++
		}
	}
	if stopped != 1 {
		t.Fatalf("%d processes are the init of a process space, want one", stopped)
	}
}

// TestLeaseEndsProcessesFirst loses nodes for good, in every way that their processes survive at
// first. Each process ends on its node by the end of the lease, and its ghost after it. One clock
// has all of these times, as the machines are on one host.
func TestLeaseEndsProcessesFirst(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	c := cluster.Start(t, cluster.Config{Nodes: len(losses), MasterConfig: fmt.Sprintf("lease %d\n", lease/time.Second)})
	running := make([]*remote, len(losses))
	for node := range losses {
		running[node] = startRemote(t, c, cluster.Alice, node, "sh", "-c", "sleep 1000 & echo ready; wait")
	}
	var watching errgroup.Group
	for node, l := range losses {
		pids := family(t, c, running[node])
		fds := make([]int, 0, 2*len(pids)) // processes, then their ghosts
		for _, of := range []func(pid int) int{
			func(pid int) int { return pidfdOfRemote(t, c.Nodes[node], pid) },
			func(pid int) int { return pidfd(t, c.Front, pid) },
		} {
			for _, pid := range pids {
				fds = append(fds, of(pid))
			}
		}
		begin := time.Now()
		l.lose(t, c, node)
		watching.Go(func() error {
			ends, err := cluster.Ends(fds, lineTimeout)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			return inOrder(t, l.name, ends, begin, len(pids), lease)
		})
	}
	if err := watching.Wait(); err != nil {
		t.Error(err)
	}
	for node, l := range losses {
		running[node].lost()
		l.restore(t, c, node)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	if err := c.WaitUp(ctx, 0, 1, 2, 3); err != nil {
		t.Error(err)
	}
	if res := bpsh(t, c, cluster.Alice, "all", "echo", "back"); res.Stdout != strings.Repeat("back\n", len(losses)) {
		t.Errorf("after that: got %+v", res)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// inOrder checks that the first half of the watched processes ended before the other half, their
// ghosts, and none of them within the lease.
func inOrder(t *testing.T, name string, ends []cluster.End, begin time.Time, half int, lease time.Duration) error {
	var lastProcess, firstGhost time.Time
	for i, end := range ends {
		if isGhost := end.Which >= half; isGhost != (i >= half) {
			return fmt.Errorf("%s: of the first %d ends, one is of a ghost: %+v", name, half, ends)
		}
		if early := begin.Add(lease - watch); end.At.Before(early) {
			return fmt.Errorf("%s: %v before its lease had run out, one has ended", name, early.Sub(end.At))
		}
	}
	lastProcess, firstGhost = ends[half-1].At, ends[half].At
	t.Logf("%s: processes end after %v, ghosts %v later", name, lastProcess.Sub(begin), firstGhost.Sub(lastProcess))
	return nil
}

// family returns the numbers of a remote process and its children.
func family(t *testing.T, c *cluster.Cluster, r *remote) []int {
	t.Helper()
	all := []int{r.ghost}
	for _, p := range childrenOf(t, c.Front, r.ghost) {
		all = append(all, p.PID)
	}
	if len(all) != 2 {
		t.Fatalf("there are %v, want a process and its child", all)
	}
	return all
}

func pidfdOfRemote(t *testing.T, node *cluster.Machine, number int) int {
	t.Helper()
	p, err := node.Remote(number)
	if err != nil {
		t.Fatal(err)
	}
	return pidfd(t, node, p.PID)
}

func pidfd(t *testing.T, m *cluster.Machine, pid int) int {
	t.Helper()
	fd, err := m.PIDFD(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}
