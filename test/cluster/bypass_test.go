package cluster_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bproc/test/cluster"
)

// connections returns how many connections of TCP a node has with the master: one is its link, others are bypasses.
func connections(t *testing.T, m *cluster.Machine) int {
	t.Helper()
	return strings.Count(ask(t, m, cluster.Root, "ss", "-Htn", "state", "established", "dport", "=", ":2223")+"\n", ":2223")
}

// TestBypass has much go both ways. It goes by a bypass, which can break, as can all that it goes past: the
// bytes go on after those that have come. Nothing of it is left when the process has ended.
func TestBypass(t *testing.T) {
	t.Parallel()
	const size = 512 << 20
	program := cluster.Program(t, pattern)
	for _, tc := range []struct {
		name    string
		disturb func(t *testing.T, c *cluster.Cluster)
	}{
		{"undisturbed", func(*testing.T, *cluster.Cluster) {}},
		{"broken", func(t *testing.T, c *cluster.Cluster) {
			ask(t, c.Nodes[0], cluster.Root, "ss", "-K", "dport", "=", ":2223") // the link, too, which goes on by itself
		}},
		{"another master", func(t *testing.T, c *cluster.Cluster) {
			if err := c.Master.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := c.StartMaster(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"another slave", func(t *testing.T, c *cluster.Cluster) {
			if err := c.Slaves[0].Kill(); err != nil {
				t.Fatal(err)
			}
			if err := c.StartSlave(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{Nodes: 1})
			script := fmt.Sprintf("%[1]s write %[2]d | bpsh 0 cat | %[1]s check %[2]d", program, size)
			cmd := c.Front.Command(t.Context(), cluster.Alice, "bash", "-o", "pipefail", "-c", script)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			bypassed(t, c)
			tc.disturb(t, c)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, &errs)
			}
			if want := fmt.Sprintf("%d bytes as written\n", size); out.String() != want {
				t.Errorf("got %q, want %q", &out, want)
			}
			cluster.Eventually(t, "the bypass has ended", func() error {
				if n := connections(t, c.Nodes[0]); n != 1 {
					return fmt.Errorf("%d connections", n)
				}
				return idle(c)
			})
		})
	}
}

// bypassed waits until a node has a bypass.
func bypassed(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	cluster.Eventually(t, "there is a bypass", func() error {
		if n := connections(t, c.Nodes[0]); n < 2 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
}

// TestBypassKeepsOrder has a process print the numbers of what it has started, among much else: whoever reads one finds
// the ghost.
func TestBypassKeepsOrder(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	const (
		children = 300
		much     = `head -c 200000 /dev/zero | tr '\0' '\n'`
		script   = `for i in $(seq 100); do ` + much + `; done; for i in $(seq %d); do sleep 1000 >&- & echo $!; ` + much + `; done; kill $(jobs -p)`
		check    = `bpsh 0 bash -c "$0" | grep --line-buffered . | while read pid; do [ -d /proc/$pid ] && echo seen || echo "no $pid"; done | sort | uniq -c`
	)
	got := strings.Fields(ask(t, c.Front, cluster.Root, "bash", "-c", check, fmt.Sprintf(script, children)))
	if want := fmt.Sprintf("[%d seen]", children); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
