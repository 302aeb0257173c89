package cluster_test

import (
	"strings"
	"testing"

	"bproc/test/cluster"
)

// TestLoweredPIDMax has an administrator lower kernel.pid_max on the front end, as sysctl --system
// may. No process is killed because of that, and the limit is raised again.
func TestLoweredPIDMax(t *testing.T) {
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const script = "for i in 1 2 3 4 5; do sh -c 'sleep 0.2; exit 3'; echo $?; done"
	for range 3 {
		ask(t, c.Front, cluster.Root, "sh", "-c", "echo 400000 >/proc/sys/kernel/pid_max")
		if res := bpsh(t, c, cluster.Alice, "0", "sh", "-c", script); res.Stdout != "3\n3\n3\n3\n3\n" || res.Code != 0 {
			t.Errorf("got %+v", res)
		}
	}
	keeper, err := c.Front.ReadFile("/run/bproc/keeper.log")
	if err != nil {
		t.Fatal(err)
	}
	init, err := c.Nodes[0].ReadFile("/run/bproc/slave/init.log")
	if err != nil {
		t.Fatal(err)
	}
	// Before Linux 6.14 this is also the limit of the node, whose init may notice it first.
	if !strings.Contains(string(keeper), "kernel.pid_max was lowered, and is set again") && !strings.Contains(string(init), "the limit of process numbers was set anew") {
		t.Errorf("nobody says that the limit was lowered: the keeper says %q, init %q", keeper, init)
	}
	if now := ask(t, c.Front, cluster.Root, "cat", "/proc/sys/kernel/pid_max"); now != "4194304" {
		t.Errorf("kernel.pid_max is %s", now)
	}
}
