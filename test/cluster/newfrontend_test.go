package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// TestFrontEndIsSetUpAnew loses the state of the master while the daemon of a node is away, which has left a
// process. With a token of the former master the node tells what is wrong and what helps. With one of the new
// master it joins, and the process is gone.
func TestFrontEndIsSetUpAnew(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	old := ask(t, c.Front, cluster.Root, "bpctl", "enroll")
	startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	if err := c.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Master.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, c.Front, cluster.Root, "rm", "-r", "/var/lib/bproc/master")
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 0, "--join", old); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"the token is not good for the master that answers",
		"this is not the master whose cluster this node has joined",
		"if the front end was set up anew, start bpslave with a new token of 'bpctl enroll'",
	} {
		cluster.Eventually(t, text, func() error { return logged(c, "n0/log/bpslave.log", text) })
	}
	if err := c.Slaves[0].Kill(); err != nil {
		t.Fatal(err)
	}
	token := ask(t, c.Front, cluster.Root, "bpctl", "enroll")
	if err := c.StartSlave(t.Context(), 0, "--join", token); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the process has ended", func() error { return idle(c) })
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "new"); res.Stdout != "new\n" {
		t.Errorf("with the new master: got %+v", res)
	}
}
