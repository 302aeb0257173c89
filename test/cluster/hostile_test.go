package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
)

// TestGarbageCalls gives every call about processes invalid numbers and pointers: the results are
// those of the front end.
func TestGarbageCalls(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			c := cluster.Shared(t, 4)
			bothPlaces(t, c, func(t *testing.T, at place) []string {
				return converse(t, c, user, at, conform(t, "garbage")).rest()
			})
		})
	}
}

// TestHostile has programs attack their node, its init and the process space. Their results are
// logged; others must not be affected.
func TestHostile(t *testing.T) {
	for _, name := range []string{"hostile", "escape"} {
		for _, user := range users {
			t.Run(name+"/"+user.Name, func(t *testing.T) {
				c := cluster.Start(t, cluster.Config{Nodes: 2})
				other := startTargets(t, c, cluster.Bob, 1, "bpsh", "1", conform(t, "target"))
				lines := converse(t, c, user, onNode, conform(t, name)).rest()
				t.Logf("%s got:\n%s", user.Name, strings.Join(lines, "\n"))
				noneWrong(t, lines)
				if end := lines[len(lines)-1]; end != "exit code 0" {
					t.Errorf("it ended with %s", end)
				}
				unharmed(t, c)
				if got := other[0].log(); len(got) > 0 {
					t.Errorf("another's process got %q", got)
				}
				cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
			})
		}
	}
}

// unharmed checks that a cluster works as before.
func unharmed(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, d := range slices.Concat([]*cluster.Daemon{c.Master}, c.Slaves) {
		select {
		case <-d.Done():
			t.Errorf("%s has ended", d.Name)
		default:
		}
	}
	for _, user := range []cluster.User{cluster.Root, cluster.Alice, cluster.Bob} {
		for node := range c.Nodes {
			begin := time.Now()
			res := bpsh(t, c, user, fmt.Sprint(node), "sh", "-c", "sleep 0 & wait $!; echo $PPID works")
			if !strings.HasSuffix(res.Stdout, " works\n") || res.Code != 0 {
				t.Errorf("%s on node %d, after %v: got %+v", user.Name, node, time.Since(begin), res)
			}
		}
	}
}
