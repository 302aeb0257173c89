package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// TestOnNode has processes on a node ask for the nodes, and try to start something.
func TestOnNode(t *testing.T) {
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	for _, user := range users {
		for _, args := range [][]string{{"bpstat", "-n", "up"}, {"bpstat", "-s"}, {"bpstat", "-a", "1"}} {
			here, err := c.Front.Exec(t.Context(), user, args...)
			if err != nil {
				t.Fatal(err)
			}
			if there := bpsh(t, c, user, append([]string{"1"}, args...)...); there != here || there.Stdout == "" {
				t.Errorf("%s, %v: got %+v on the node, and %+v on the front end", user.Name, args, there, here)
			}
		}
		got := bpsh(t, c, user, "1", "bpsh", "0", "true")
		want := cluster.Result{Code: 255, Stderr: "bpsh: no master is running here (/run/bproc/master.sock: no such file or directory): this is a node, and commands are started on the front end\n"}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", user.Name, got, want)
		}
	}
}
