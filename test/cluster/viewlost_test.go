package cluster_test

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/procfs"
	"bproc/test/cluster"
	"bproc/wire"
)

// sees waits until a process is seen in a state.
func (s *seen) sees(pid int, state string) {
	s.t.Helper()
	cluster.Eventually(s.t, fmt.Sprintf("%d in state %s", pid, state), func() error {
		r := s.call(viewRequest{Call: "Refresh"})
		if r.Err != "" {
			return errors.New(r.Err)
		}
		s.take(r.Changes)
		if p := s.procs[wire.PID(pid)]; field(p.Stat, 3) != state {
			return fmt.Errorf("it is %q", p.Stat)
		}
		return nil
	})
}

// TestViewOfSilentNode stops the daemon of a node. Until it goes on, its processes are shown as
// they were, and those of other nodes as they are.
func TestViewOfSilentNode(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	view := startViewer(t, c, cluster.Root)
	sleeper := []string{"sh", "-c", "echo ready; exec sleep 1000"}
	silent := startRemote(t, c, cluster.Alice, 1, sleeper...)
	view.sees(silent.ghost, "S")
	if err := c.Slaves[1].Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	view.sees(startRemote(t, c, cluster.Alice, 0, sleeper...).ghost, "S")
	view.sees(silent.ghost, "S")
	state := func(want string) func() error {
		return func() error {
			view.take(view.call(viewRequest{Call: "Refresh"}).Changes)
			if got := view.call(viewRequest{Call: "Nodes"}).Nodes; len(got) != 2 || got[0] != (procfs.Node{ID: 0, State: "up"}) || got[1] != (procfs.Node{ID: 1, State: want}) {
				return fmt.Errorf("got %v", got)
			}
			return nil
		}
	}
	cluster.Eventually(t, "the node is silent", state("silent"))
	if err := c.Slaves[1].Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the node is up", state("up"))
	silent.kill(unix.SIGSTOP)
	view.sees(silent.ghost, "T")
}

// TestViewOutlivesMaster kills and restarts the master while a viewer looks.
func TestViewOutlivesMaster(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	view := startViewer(t, c, cluster.Root)
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1000")
	view.sees(r.ghost, "S")
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	if reply := view.call(viewRequest{Call: "Refresh"}); reply.Err == "" || len(reply.Changes.Ended) > 0 {
		t.Errorf("without a master: got %+v", reply)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	r.kill(unix.SIGSTOP)
	view.sees(r.ghost, "T")
	r.kill(unix.SIGKILL)
	cluster.Eventually(t, "an end is seen", func() error {
		view.refresh()
		if p, ok := view.procs[wire.PID(r.ghost)]; ok {
			return fmt.Errorf("the process is %q", p.Stat)
		}
		return nil
	})
}
