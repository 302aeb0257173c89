package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/wire"
	"bproc/wire/link"
)

// identityOf returns the identity of a node.
func identityOf(t *testing.T, m *cluster.Machine) *link.Identity {
	t.Helper()
	dir, err := m.Path(filepath.Join(cluster.StateDir, "slave", "identity"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := link.OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// connect opens a session with an identity from a node's network.
func connect(t *testing.T, c *cluster.Cluster, identity *link.Identity) (session *link.Session, err error) {
	t.Helper()
	_ = c.Nodes[0].Do(func() error {
		hello := wire.Hello{Version: wire.Version, Arch: "amd64", Host: "false", BootID: "boot"}
		session, err = link.Dial(t.Context(), link.DialConfig{Addr: c.Front.Addr.String() + ":2223", Identity: identity, Hello: hello, Log: slog.New(slog.DiscardHandler)})
		return nil
	})
	return session, err
}

// joinAgain starts the slave of a node with a token without a name. It must get its former number.
func joinAgain(t *testing.T, c *cluster.Cluster, node int) {
	t.Helper()
	token := strings.TrimSpace(ask(t, c.Front, cluster.Root, "bpctl", "enroll"))
	if err := c.StartSlave(t.Context(), node, "--join", token); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	if err := c.WaitUp(ctx, node); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, fmt.Sprint(node), "hostname"); res.Stdout != c.Nodes[node].Name+"\n" {
		t.Errorf("after it has joined again: got %+v", res)
	}
}

// TestRevoke revokes a node, whether it can be reached or not; its processes end. It is then
// refused, also by the next master, until it is enrolled again, and then has its former number.
func TestRevoke(t *testing.T) {
	for _, tc := range []struct {
		name string
		cut  bool
	}{{"connected", false}, {"cut off", true}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{Nodes: 2})
			home, former := identityOf(t, c.Nodes[0]).Home, identityOf(t, c.Nodes[0])
			r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "sleep 1000 & echo ready; wait")
			in, write := pipe(t)
			other := startRemoteWith(t, c, cluster.Alice, 1, in, "sh", "-c", "echo ready; read line; echo $line; exit 5")
			in.Close()
			if tc.cut {
				if err := c.Cut(0); err != nil {
					t.Fatal(err)
				}
			}
			ask(t, c.Front, cluster.Root, "bpctl", "revoke", "0")
			r.lost()
			if _, ghost := r.state(); ghost != "" {
				t.Errorf("its ghost is %q", ghost)
			}
			wantError(t, bpsh(t, c, cluster.Alice, "0", "true"), "bpsh", 255, "node 0 is down")
			if tc.cut {
				if err := c.Heal(0); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Slaves[0].AwaitEnd(); err != nil {
				t.Fatal(err)
			}
			if process, _ := r.state(); process != "" {
				t.Errorf("the process is %q", process)
			}
			for _, log := range []string{"front/log/bpmaster.log", "n0/log/bpslave.log"} {
				for _, says := range []string{"it was revoked", "bpctl enroll"} {
					// The master answers a slave before it logs what it has answered.
					cluster.Eventually(t, "it is told why", func() error { return logged(c, log, says) })
				}
			}
			if err := c.Master.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := c.StartMaster(t.Context()); err != nil {
				t.Fatal(err)
			}
			res, err := c.Nodes[0].Exec(t.Context(), cluster.Root, "bpslave", "front")
			if err != nil {
				t.Fatal(err)
			}
			if res.Code != 1 || !strings.Contains(res.Stderr, "it was revoked") || !strings.Contains(res.Stderr, "bpctl enroll") {
				t.Errorf("refused by the next master: got %+v", res)
			}
			joinAgain(t, c, 0)
			if now := identityOf(t, c.Nodes[0]); now.Home != home || now.Key() == former.Key() {
				t.Errorf("it is %s at home in %v, was %s in %v", now.Key(), now.Home, former.Key(), home)
			}
			if _, err := connect(t, c, former); err == nil {
				t.Error("its former identity is good again")
			}
			if _, err := fmt.Fprintln(write, "goes on"); err != nil {
				t.Fatal(err)
			}
			other.expect("goes on")
			if code := other.wait(); code != 5 {
				t.Errorf("on the other node: exit code %d, want 5: %s", code, &other.stderr)
			}
			cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
		})
	}
}

// TestRevokeNobody checks the errors for nodes that cannot be revoked, and for users who may not
// revoke.
func TestRevokeNobody(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1, MasterConfig: "node 7 seven\n"})
	for _, tc := range []struct {
		user  cluster.User
		nodes string
		says  string
	}{
		{cluster.Alice, "0", "only root may revoke nodes"},
		{cluster.Root, "7", "it has no identity"},
		{cluster.Root, "9", "no such node"},
	} {
		res, err := c.Front.Exec(t.Context(), tc.user, "bpctl", "revoke", tc.nodes)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, res, "bpctl", 1, tc.says)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("after that: got %+v", res)
	}
}

// TestSetDown sets a node down: its processes end normally, and then its session; its daemon waits.
// When it is set up again, it returns.
func TestSetDown(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	pid, err := c.Slaves[0].PID()
	if err != nil {
		t.Fatal(err)
	}
	r := startRemote(t, c, cluster.Alice, 0, "sh", "-c", "sleep 1000 & echo ready; wait")
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "-s", "down")
	if code := r.wait(); code != 137 && code != 255 {
		t.Errorf("exit code %d, want that of SIGKILL or of a node that is lost: %s", code, &r.stderr)
	}
	r.gone()
	cluster.Eventually(t, "the slave is turned away", func() error { return logged(c, "n0/log/bpslave.log", "the node is set down") })
	wantError(t, bpsh(t, c, cluster.Alice, "0", "true"), "bpsh", 255, "node 0 is down")
	if err := c.Master.Kill(); err != nil { // the next one does not serve it either
		t.Fatal(err)
	}
	if err := c.StartMaster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if session, err := connect(t, c, identityOf(t, c.Nodes[0])); err == nil {
		session.Close(nil)
		t.Error("it can connect")
	}
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "0", "-s", "up")
	ctx, cancel := context.WithTimeout(t.Context(), lineTimeout)
	defer cancel()
	if err := c.WaitUp(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
		t.Errorf("after that: got %+v", res)
	}
	if now, err := c.Slaves[0].PID(); err != nil || now != pid {
		t.Errorf("the daemon is %d, was %d, %v", now, pid, err)
	}
	cluster.Eventually(t, "nothing is left", func() error { return idle(c) })
}

// TestSetDownOfOneThatStays sets a node down that ignores this: it looks at other nodes, and
// reports processes. Its view ends, and then its session.
func TestSetDownOfOneThatStays(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 1})
	identity := joinFalse(t, c)
	session, err := connect(t, c, identity)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Run(t.Context()) }()
	control, err := session.Open(t.Context())
	if err == nil {
		err = wire.Write(control, 0, &wire.Inventory{Kernel: "none", CPUs: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	view, err := session.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := view.SetDeadline(time.Now().Add(lineTimeout)); err != nil {
		t.Fatal(err)
	}
	for _, m := range []wire.Message{new(wire.Viewer), &wire.Look{Version: wire.Version, Node: 0}} {
		if err := wire.Write(view, 0, m); err != nil {
			t.Fatal(err)
		}
	}
	if m, _, err := wire.NewReader(view).Read(); err != nil || m.Type() != wire.TypeShown {
		t.Fatalf("it cannot look: got %+v, %v", m, err)
	}
	// It is asked for a process, and never reports the result.
	waits := c.Front.Command(t.Context(), cluster.Alice, "bpsh", "1", "true")
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the command waits for its node", func() error { return adopted(c) })
	ask(t, c.Front, cluster.Root, "bpctl", "-S", "1", "-s", "down")
	var late net.Error
	if m, _, err := wire.NewReader(view).Read(); err == nil || errors.As(err, &late) && late.Timeout() {
		t.Errorf("it looks still: got %+v, %v", m, err)
	}
	select {
	case err := <-ended:
		var closed *link.ClosedError
		if !errors.As(err, &closed) || !strings.Contains(closed.Reason, "set down") {
			t.Errorf("the session has ended: %v; want closed, since the node is set down", err)
		}
	case <-time.After(lineTimeout):
		t.Error("the session is there still")
	}
	refused := (*link.RefusedError)(nil)
	if _, err := connect(t, c, identity); !errors.As(err, &refused) || !refused.Later {
		t.Errorf("it connects again: got %v", err)
	}
	_ = waits.Process.Kill() // its node may have the process until the lease has run out
	_ = waits.Wait()
}

// TestRejoin has a machine lose its identity and join again, with tokens without a name: it gets
// its former number and home each time, also if another machine has joined.
func TestRejoin(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	home := identityOf(t, c.Nodes[0]).Home
	if home.Count == 0 {
		t.Fatal("it has no home")
	}
	for range 3 {
		former := identityOf(t, c.Nodes[0])
		if err := c.Slaves[0].Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask(t, c.Nodes[0], cluster.Root, "rm", "-r", cluster.StateDir+"/slave")
		joinAgain(t, c, 0)
		if now := identityOf(t, c.Nodes[0]).Home; now != home {
			t.Errorf("its home is %v, was %v", now, home)
		}
		refused := (*link.RefusedError)(nil)
		if _, err := connect(t, c, former); !errors.As(err, &refused) || !refused.Rejoin {
			t.Errorf("its former identity: got %v, want a refusal", err)
		}
	}
	if states, err := c.States(t.Context()); err != nil || len(states) != 2 {
		t.Errorf("there are nodes %v, %v, want two", states, err)
	}
	// A connected node is not replaced by a machine that claims its name.
	token := strings.TrimSpace(ask(t, c.Front, cluster.Root, "bpctl", "enroll"))
	if err := c.Nodes[1].Do(func() error {
		_, err := link.Join(t.Context(), c.Front.Addr.String()+":2223", token, filepath.Join(t.TempDir(), "identity"), "n0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	res, err := c.Front.Exec(t.Context(), cluster.Root, "bpctl", "enroll", "--node", "0")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Nodes[1].Do(func() error {
		_, err := link.Join(t.Context(), c.Front.Addr.String()+":2223", strings.TrimSpace(res.Stdout), filepath.Join(t.TempDir(), "identity"), "n0")
		return err
	}); err == nil || !strings.Contains(err.Error(), "bpctl revoke") {
		t.Errorf("with its number: got %v, want that it is connected, and what to do", err)
	}
	if res := bpsh(t, c, cluster.Alice, "0", "hostname"); res.Stdout != "n0\n" {
		t.Errorf("after that: got %+v", res)
	}
}
