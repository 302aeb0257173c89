package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// TestReboot reboots a node before its lease has run out and while the master still considers its
// old connection alive.
func TestReboot(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "sleep 1000 & echo ready; wait")
	if err := c.Nodes[1].Reboot(); err != nil {
		t.Fatal(err)
	}
	startSlaveAgain(t, c, 1)
	r.lost()
	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	if err := c.WaitUp(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "1", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("after that: got %+v", res)
	}
	if err := logged(c, "front/log/bpmaster.log", "the machine of a node was started anew"); err != nil {
		t.Error(err)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestRebootUnseen reboots a node while there is no master. The next one has only the ghosts to go
// by. That of the command ends as its client comes back, that of its child as the node comes: long
// before all that no node has claimed is given up, which with this lease takes minutes.
func TestRebootUnseen(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: "lease 300\n"})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "sleep 1000 & echo ready; wait")
	if err := c.Master.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Nodes[1].Reboot(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	startSlaveAgain(t, c, 1)
	r.lost()
	if res := bpsh(t, c, cluster.Alice, "1", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("after that: got %+v", res)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestTwins starts a slave on another node with a copy of the identity of the first. It is not
// served, and the processes of the first go on.
func TestTwins(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	if err := c.Slaves[1].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := [2]string{}
	for i := range state {
		var err error
		if state[i], err = c.Nodes[i].Path(filepath.Join(cluster.StateDir, "slave")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(state[1]); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(state[1], os.DirFS(state[0])); err != nil {
		t.Fatal(err)
	}
	startSlaveAgain(t, c, 1)
	for _, says := range []struct{ who, log, text string }{
		{"the master", "front/log/bpmaster.log", "two slaves have one identity; the second is not served"},
		{"the twin", "n1/log/bpslave.log", "a slave with the same identity is connected"},
	} {
		cluster.Eventually(t, says.who+" says what is wrong", func() error { return logged(c, says.log, says.text) })
	}
	if process, ghost := r.state(); process == "" || ghost == "" {
		t.Errorf("the process is %q, its ghost %q", process, ghost)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "hostname"); res.Stdout != "n0\n" {
		t.Errorf("meanwhile: got %+v", res)
	}
	if n := count(t, c, "front/log/bpmaster.log", "two slaves have one identity"); n != 1 {
		t.Errorf("the master says %d times what is wrong, want once", n)
	}
	r.kill(unix.SIGTERM)
	if code := r.wait(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	r.gone()
}

// TestSecondSlave starts a second slave beside the first, with its directories.
func TestSecondSlave(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	for name, argv := range map[string][]string{
		"/var/lib/bproc/slave": {"bpslave", "--runtime", "/run/other", "front"},
		"/run/bproc/slave":     {"bpslave", "--state", "/run/other", "front"},
	} {
		res, err := c.Nodes[0].Exec(t.Context(), cluster.Root, argv...)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, res, "bpslave", 1, "another slave uses "+name)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("with the first slave: got %+v", res)
	}
}

// TestInitHangs stops the init of a process space. Commands that wait for it end with a line that
// names the node, and the next daemon makes another space.
func TestInitHangs(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: "lease 3\n"})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1000")
	stopInit(t, c.Nodes[1])
	wantError(t, bpsh(t, c, cluster.Bob, "1", "true"), "bpsh", 255, "node 1")
	if err := c.Slaves[1].AwaitEnd(); err != nil {
		t.Fatal(err)
	}
	if err := logged(c, "n1/log/bpslave.log", "init of the process space does not answer"); err != nil {
		t.Error(err)
	}
	startSlaveAgain(t, c, 1)
	r.lost()
	r.gone()
	if err := c.WaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "1", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("with the new space: got %+v", res)
	}
}

// TestSlaveHangs stops a slave. A command for its node fails when the lease has run out; commands
// for other nodes are not affected.
func TestSlaveHangs(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: fmt.Sprintf("lease %d\n", lease/time.Second)})
	if err := c.Slaves[1].Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	late := make(chan cluster.Result)
	go func() {
		res, err := c.Front.Exec(t.Context(), cluster.Alice, "bpsh", "1", "true")
		if err != nil {
			t.Error(err)
		}
		late <- res
	}()
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("on the other node: got %+v", res)
	}
	select {
	case res := <-late:
		wantError(t, res, "bpsh", 255, "node 1", "down")
	case <-time.After(lineTimeout):
		t.Fatal("a command for the node that hangs waits for ever")
	}
	if err := c.WaitDown(t.Context(), 1); err != nil {
		t.Error(err)
	}
	wantError(t, bpsh(t, c, cluster.Alice, "1", "true"), "bpsh", 255, "node 1", "down")
	if err := c.Slaves[1].Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 1); err != nil {
		t.Error(err)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// logged returns an error if a log lacks a text.
func logged(c *cluster.Cluster, log, text string) error {
	lines, err := c.Log(log)
	if err != nil {
		return err
	}
	if !strings.Contains(lines, text) {
		return fmt.Errorf("%s does not say %q", log, text)
	}
	return nil
}

// count returns how often a log contains a text.
func count(t *testing.T, c *cluster.Cluster, log, text string) int {
	t.Helper()
	lines, err := c.Log(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(lines, text)
}
