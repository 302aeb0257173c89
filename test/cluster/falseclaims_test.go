package cluster_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/test/cluster"
	"bproc/wire"
	"bproc/wire/link"
)

// TestFalseClaims restarts the master, and has a lying node connect first: it claims all processes
// and all numbers. They stay with the node that had them, whether the keeper has survived or not.
func TestFalseClaims(t *testing.T) {
	for _, tc := range []struct {
		name   string
		keeper bool
	}{{"the master is killed", false}, {"the keeper, too", true}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{Nodes: 2})
			identity := joinFalse(t, c)
			r := startRemote(t, c, cluster.Alice, 1, "sh", "-c", "(trap 'echo works; exit' TERM; echo ready; echo $PPID; while :; do sleep 0.1; done); exit 7")
			if err := c.Cut(1); err != nil {
				t.Fatal(err)
			}
			if err := c.Master.Kill(); err != nil {
				t.Fatal(err)
			}
			if tc.keeper {
				if err := c.KillKeeper(); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.StartMaster(t.Context()); err != nil {
				t.Fatal(err)
			}
			claimAll(t, c, identity)
			for _, says := range []string{"claims the ghost of a process that is not its own", "node claims process numbers that are not its own"} {
				cluster.Eventually(t, "the master does not believe it", func() error { return logged(c, "front/log/bpmaster.log", says) })
			}
			if err := c.Heal(1); err != nil {
				t.Fatal(err)
			}
			if err := c.WaitUp(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			r.line() // the number of the outer shell
			ghosts := childrenOf(t, c.Front, r.ghost)
			if len(ghosts) != 1 {
				t.Fatalf("%d has children %v, want one", r.ghost, ghosts)
			}
			if err := c.Front.Kill(ghosts[0].PID, unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			r.expect("works")
			if code := r.wait(); code != 7 {
				t.Errorf("exit code %d, want 7: %s", code, &r.stderr)
			}
			r.gone()
		})
	}
}

// joinFalse makes another node on the machine of the first one.
func joinFalse(t *testing.T, c *cluster.Cluster) (identity *link.Identity) {
	t.Helper()
	token := ask(t, c.Front, cluster.Root, "bpctl", "enroll")
	if err := c.Nodes[0].Do(func() (err error) {
		identity, err = link.Join(t.Context(), c.Front.Addr.String()+":2223", token, filepath.Join(t.TempDir(), "identity"), "false")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return identity
}

// claimAll connects as a node that has all ghosts and all numbers, until the test ends.
func claimAll(t *testing.T, c *cluster.Cluster, identity *link.Identity) {
	t.Helper()
	var session *link.Session
	if err := c.Nodes[0].Do(func() (err error) {
		hello := wire.Hello{Version: wire.Version, Arch: "amd64", Host: "false", BootID: "boot"}
		session, err = link.Dial(t.Context(), link.DialConfig{Addr: c.Front.Addr.String() + ":2223", Identity: identity, Hello: hello, Log: slog.New(slog.DiscardHandler)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = session.Run(ctx) // the master may close it
	}()
	t.Cleanup(func() { end(); <-done })
	inventory := &wire.Inventory{Kernel: "none", CPUs: 1, Blocks: []wire.Block{{First: pidmap.Node, Count: int32(pidmap.Max - pidmap.Node)}}}
	ghosts, err := c.Front.Ghosts()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range ghosts {
		inventory.PIDs = append(inventory.PIDs, wire.PID(g.PID))
	}
	control, err := session.Open(ctx)
	if err == nil {
		err = wire.Write(control, 0, inventory)
	}
	if err != nil {
		t.Fatal(err)
	}
}
