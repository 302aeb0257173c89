package cluster_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"bproc/test/cluster"
	"bproc/wire"
	"bproc/wire/link"
)

// TestFloodOfEvents has a joined slave send events about processes that do not exist, as fast as it
// can. It harms only itself.
func TestFloodOfEvents(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Nodes: 2, NoSlaves: true})
	token, err := c.Enroll(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StartSlave(t.Context(), 0, "--join", token); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		event wire.Event
	}{
		{"births of unknown parents", wire.Event{Kind: wire.EventForked, PID: 1 << 21, Parent: 4711, PGID: 4711, SID: 4711}},
		{"births with a front end's numbers", wire.Event{Kind: wire.EventForked, PID: 1, Parent: 1}},
		{"ends of nobody", wire.Event{Kind: wire.EventExited, PID: 4711}},
		{"processes that nobody has asked for", wire.Event{Kind: wire.EventSpawned, PID: 2}},
		{"no kind of event", wire.Event{Kind: 200, PID: 4711}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			told := make(chan int)
			token := ask(t, c.Front, cluster.Root, "bpctl", "enroll") // another node each time
			stream, ended := falseSlave(ctx, t, c, token)
			go func() { told <- floodEvents(ctx, stream, tc.event) }()
			slowest := time.Duration(0)
			for begin := time.Now(); time.Since(begin) < floodTime; {
				slowest = max(slowest, answers(t, c))
				if res := bpsh(t, c, cluster.Alice, "0", "echo", "works"); res.Stdout != "works\n" {
					t.Errorf("meanwhile: got %+v", res)
				}
			}
			stop()
			t.Logf("among %d events, bpstat takes %v at most; the session ends with %v", <-told, slowest, <-ended)
			cluster.Eventually(t, "nothing is left", func() error { return idle1(c.Front, c.Nodes[0]) })
		})
	}
}

// falseSlave joins with a token and opens the control stream of a node without processes. The
// session ends with the context.
func falseSlave(ctx context.Context, t *testing.T, c *cluster.Cluster, token string) (control link.Stream, ended <-chan error) {
	t.Helper()
	addr := c.Front.Addr.String() + ":2223"
	var session *link.Session
	err := c.Nodes[1].Do(func() error { // the sockets belong to the node's network
		identity, err := link.Join(ctx, addr, token, filepath.Join(t.TempDir(), "identity"), "false")
		if err != nil {
			return err
		}
		hello := wire.Hello{Version: wire.Version, Arch: "amd64", Host: "false", BootID: "boot"}
		session, err = link.Dial(ctx, link.DialConfig{Addr: addr, Identity: identity, Hello: hello, Log: slog.New(slog.DiscardHandler)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- session.Run(ctx) }()
	control, err = session.Open(ctx)
	if err == nil {
		err = wire.Write(control, 0, &wire.Inventory{Kernel: "none", CPUs: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return control, done
}

// floodEvents sends the same event until the session ends, and returns how often.
func floodEvents(ctx context.Context, control link.Stream, event wire.Event) (told int) {
	const atOnce = 100
	m := &wire.Events{First: 1}
	for range atOnce {
		m.Events = append(m.Events, event)
	}
	for ctx.Err() == nil {
		if err := wire.Write(control, 0, m); err != nil {
			return told
		}
		told += atOnce
		m.First += atOnce
		event.PID++
		for i := range m.Events {
			m.Events[i].PID = event.PID + wire.PID(i)
		}
	}
	return told
}
