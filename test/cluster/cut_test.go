package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// watch is how long a test checks that nothing happens.
const watch = 700 * time.Millisecond

// TestKillOverCutLink kills a process on a node that is cut off: its ghost must stay until the
// process is certainly dead.
func TestKillOverCutLink(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1000")
	if err := c.Cut(1); err != nil {
		t.Fatal(err)
	}
	r.kill(unix.SIGKILL)
	r.kill(unix.SIGKILL) // a second one changes nothing
	for begin := time.Now(); time.Since(begin) < watch; time.Sleep(10 * time.Millisecond) {
		process, ghost := r.state()
		if process == "" || process == "Z" || ghost == "" || ghost == "Z" {
			t.Fatalf("while the link is cut the process is %q, its ghost %q", process, ghost)
		}
	}
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "others work"); res.Code != 0 || res.Stdout != "others work\n" {
		t.Errorf("meanwhile on the other node: got %+v", res)
	}
	if err := c.Heal(1); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	r.gone()
}

// TestShortCut cuts and heals the link of a process that writes.
func TestShortCut(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; for i in $(seq 200); do echo $i; sleep 0.01; done; exit 3")
	r.expect("1")
	if err := c.Cut(0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(watch) // the process goes on writing meanwhile
	if err := c.Heal(0); err != nil {
		t.Fatal(err)
	}
	for i := 2; i <= 200; i++ {
		r.expect(fmt.Sprint(i))
	}
	if code := r.wait(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
}

// TestCutOutlastsConnection cuts a link until both sides have given its connection up, within the
// lease. The node stays up, and a command that is started meanwhile waits.
func TestCutOutlastsConnection(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, MasterConfig: "lease 20\n"})
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "echo ready; exec sleep 1000")
	if err := c.Cut(0); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "both sides give the connection up", func() error {
		return errors.Join(logged(c, "front/log/bpmaster.log", "connection has ended"), logged(c, "n0/log/bpslave.log", "connection to the master is lost"))
	})
	late := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "0", "echo", "late")
	var out bytes.Buffer
	late.Stdout = &out
	if err := late.Start(); err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context())
	if err != nil || states[0] != "up" {
		t.Errorf("meanwhile the states are %v, %v, want up", states, err)
	}
	if err := c.Heal(0); err != nil {
		t.Fatal(err)
	}
	if err := late.Wait(); err != nil || out.String() != "late\n" {
		t.Errorf("a command of the time of the cut: %v and %q, want late", err, &out)
	}
	r.kill(unix.SIGTERM)
	if code := r.wait(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	r.gone()
	if n := count(t, c, "n0/log/bpslave.log", "session with the master ended"); n > 0 {
		t.Errorf("%d sessions have ended", n)
	}
}

// TestNodeLost loses a node for good: its processes count as killed, but only after its lease has
// run out.
func TestNodeLost(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(c *cluster.Cluster) error
	}{
		{"link cut", func(c *cluster.Cluster) error { return c.Cut(1) }},
		{"power failure", func(c *cluster.Cluster) error { return c.Nodes[1].Off() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			const lease = 2 * time.Second
			c := cluster.Start(t, cluster.Config{Nodes: 2, MasterConfig: fmt.Sprintf("lease %d\n", lease/time.Second)})
			r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "echo ready; exec sleep 1000")
			begin := time.Now()
			if err := tc.lose(c); err != nil {
				t.Fatal(err)
			}
			r.lost()
			if took := time.Since(begin); took < lease-watch {
				t.Errorf("the ghost ended after %v, within the lease of %v", took, lease)
			}
			ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
			defer cancel()
			if err := c.WaitDown(ctx, 1); err != nil {
				t.Error(err)
			}
			if tc.name == "link cut" {
				r.gone()
				if err := c.Heal(1); err != nil {
					t.Fatal(err)
				}
				if err := c.WaitUp(ctx, 1); err != nil {
					t.Error(err)
				}
				if res := bpsh(t, c, cluster.Alice, "1", "echo", "back"); res.Stdout != "back\n" {
					t.Errorf("after the cut: got %+v", res)
				}
			}
		})
	}
}
