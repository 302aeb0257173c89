package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/test/cluster"
	"bproc/test/limit"
)

// TestNumbersWhileSlaveIsStopped has a node use more numbers than its block and the gap behind it
// have, while the slave, which moves the cursor and reports all births, is stopped.
func TestNumbersWhileSlaveIsStopped(t *testing.T) {
	t.Parallel()
	lease := limit.Scaled(time.Minute) // for all births
	c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: fmt.Sprintf("lease %d\n", lease/time.Second)})
	begin := filepath.Join(scratch(t), "begin")
	r := startRemote(t, c, cluster.Alice, 0, conform(t, "numbers"), begin, begin+".numbers")
	before, err := c.Nodes[0].Procs()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Slaves[0].Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(begin, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "all are born", func() error {
		after, err := c.Nodes[0].Procs()
		for _, p := range after {
			if p.Space == r.ghost && p.State != "Z" {
				return fmt.Errorf("of %d processes %d are left, with who bears them", len(before), len(after))
			}
		}
		return err
	})
	text, err := os.ReadFile(begin + ".numbers")
	if err != nil {
		t.Fatal(err)
	}
	var least, most int
	if _, err := fmt.Sscan(string(text), &least, &most); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	const home = 8192 // with 256 expected nodes
	if at := (least - int(pidmap.Node)) / home; least < int(pidmap.Node) || (most-int(pidmap.Node))/home != at {
		t.Errorf("numbers from %d to %d, want those at home on one node", least, most)
	}
	if err := c.Slaves[0].Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if n := count(t, c, "n0/log/bpslave.log", "not this node's"); n > 0 {
		t.Errorf("%d processes were killed for their numbers", n)
	}
}
