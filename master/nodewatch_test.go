package master

import (
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"bproc/master/core"
	"bproc/wire"
)

// TestAwaitNodes checks that a client that waits is told when the node table has changed, and at
// once if it knows another digest.
func TestAwaitNodes(t *testing.T) {
	l := newLookedAt(t)
	client := l.ask(core.Caller{UID: 1000}, &wire.AwaitNodes{Version: wire.Version})
	m, _, err := wire.NewReader(client).Read()
	if err != nil {
		t.Fatal(err)
	}
	before := m.(*wire.NodesAre).Digest
	waiting := l.ask(core.Caller{UID: 1000}, &wire.AwaitNodes{Version: wire.Version, After: before})
	state := "unavailable"
	l.m.input(t, core.SetNodes{Client: 98, Change: wire.SetNodes{Version: wire.Version, Nodes: []wire.NodeID{3}, State: &state}})
	m, _, err = wire.NewReader(waiting).Read()
	if err != nil {
		t.Fatal(err)
	}
	if after := m.(*wire.NodesAre).Digest; after == before {
		t.Errorf("the digest is %d still", after)
	}
}

// TestDigest checks that the digest of a table covers everything but what changes all the time.
func TestDigest(t *testing.T) {
	a := []wire.Node{{ID: 1, State: "up", Procs: 1}, {ID: 2, State: "down"}}
	for _, tt := range []struct {
		name string
		b    []wire.Node
		same bool
	}{
		{"the same", []wire.Node{a[0], a[1]}, true},
		{"another number of processes", []wire.Node{{ID: 1, State: "up", Procs: 7}, a[1]}, true},
		{"another state", []wire.Node{{ID: 1, State: "boot"}, a[1]}, false},
		{"one less", a[:1], false},
		{"none", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := digestOf(tt.b) == digestOf(a); got != tt.same {
				t.Errorf("same is %v, want %v", got, tt.same)
			}
			if digestOf(tt.b) == 0 {
				t.Error("the digest is 0")
			}
		})
	}
}

// TestAwaitNodesLeft checks that a wait ends when its client has left, and after some time in any
// case.
func TestAwaitNodesLeft(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			table := func() []wire.Node { return nil }
			m := &Master{log: slog.New(slog.DiscardHandler)}
			master, client := net.Pipe()
			c := &clientConn{m: m, log: m.log, conn: master}
			after := m.nodeWatch.of(table)
			ended := make(chan uint64)
			begun := time.Now()
			go func() {
				ctx, here := c.whileHere(t.Context(), nodesTime)
				digest := m.nodeWatch.await(ctx, after, table)
				here()
				ended <- digest
			}()
			synctest.Wait()
			if leaves {
				client.Close()
			}
			if digest := <-ended; digest != after {
				t.Errorf("got %d, want %d", digest, after)
			}
			if waited := time.Since(begun); leaves && waited > time.Second || !leaves && waited != nodesTime {
				t.Errorf("it waited %v", waited)
			}
			client.Close()
			master.Close()
		})
	}
}
