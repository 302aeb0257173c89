package cluster_test

import (
	"testing"

	"bproc/test/cluster"
)

// TestOnNode has processes on a node ask for the nodes.
func TestOnNode(t *testing.T) {
	t.Parallel()
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
	}
}
