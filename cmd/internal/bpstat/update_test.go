package bpstat_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"bproc/cmd/internal/bpstat"
	"bproc/internal/fakemaster"
	"bproc/wire"
)

// changing starts a master whose only node has another state after each awaited change, up to the
// last of the states.
func changing(t *testing.T, states ...string) *fakemaster.Master {
	var at atomic.Uint64
	return fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m := m.(type) {
		case *wire.AwaitNodes:
			if m.After == uint64(len(states)) {
				c.Gone()
				return
			}
			at.Store(m.After + 1)
			c.Send(&wire.NodesAre{Digest: m.After + 1})
		case *wire.ListNodes:
			state := states[at.Load()-1]
			if state == "" {
				c.Fail(wire.StageRequest, 5, "no table", 0)
				return
			}
			c.Send(&wire.NodeList{Nodes: []wire.Node{{ID: 3, State: state, Mode: 0o111}}})
		}
	})
}

// follow runs bpstat until it has printed a given text.
func follow(t *testing.T, s *bpstat.Stat, until string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	s.Stdout = w
	ended := make(chan int, 1)
	go func() { ended <- s.Main(ctx, args); w.Close() }()
	var seen strings.Builder
	for b := bufio.NewReader(r); !strings.Contains(seen.String(), until); {
		c, err := b.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
		seen.WriteByte(c)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if code := <-ended; code != 0 {
		t.Errorf("code %d", code)
	}
	return seen.String()
}

func TestUpdate(t *testing.T) {
	for _, tt := range []struct {
		name, args, until, want string
	}{
		{"states", "-sU", "error\n", "down\n\nup\n\nerror\n"},
		{"JSON has a line each", "-sU --json", "error\"]\n", "[\"down\"]\n[\"up\"]\n[\"error\"]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := changing(t, "down", "up", "up", "error")
			got := follow(t, &bpstat.Stat{Client: &m.Client}, tt.until, strings.Fields(tt.args)...)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUpdateGoesOn checks that -U goes on after a master could not answer for a while.
func TestUpdateGoesOn(t *testing.T) {
	var at atomic.Uint32
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m := m.(type) {
		case *wire.AwaitNodes:
			c.Send(&wire.NodesAre{Digest: m.After + 1})
		case *wire.ListNodes:
			switch at.Add(1) {
			case 1:
				c.Send(&wire.NodeList{Nodes: []wire.Node{{State: "up"}}})
			case 2:
				c.Fail(wire.StageRequest, 5, "no table", 0)
			default:
				c.Send(&wire.NodeList{Nodes: []wire.Node{{State: "down"}}})
			}
		}
	})
	var bad strings.Builder
	got := follow(t, &bpstat.Stat{Client: &m.Client, Stderr: &bad}, "down", "-sU")
	if want := "up\n\ndown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := "bpstat: no table\n"; bad.String() != want {
		t.Errorf("got %q, want %q", bad.String(), want)
	}
}

// TestUpdateOnTerminal checks that each table replaces the previous one and fits the screen.
func TestUpdateOnTerminal(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch m := m.(type) {
		case *wire.AwaitNodes:
			if m.After == 1 {
				c.Gone()
				return
			}
			c.Send(&wire.NodesAre{Digest: 1})
		case *wire.ListNodes:
			list := new(wire.NodeList)
			for i := range 9 {
				list.Nodes = append(list.Nodes, wire.Node{ID: wire.NodeID(i)})
			}
			c.Send(list)
		}
	})
	s := &bpstat.Stat{Client: &m.Client, Screen: func() (int, int) { return 80, 5 }}
	got := follow(t, s, "lines\n\x1b[?7h", "-nU")
	if want := "\x1b[H\x1b[J\x1b[?7l0\n1\n2\n... 6 more lines\n\x1b[?7h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
