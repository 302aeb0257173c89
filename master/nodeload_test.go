package master

import (
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// loads returns the loads of nodes that a client is told.
func (l *lookedAt) loads(nodes []wire.NodeID, meanwhile func()) []wire.NodeLoad {
	l.t.Helper()
	client := l.ask(core.Caller{UID: 1000}, &wire.ListLoads{Version: wire.Version, Nodes: nodes})
	meanwhile()
	m, _, err := wire.NewReader(client).Read()
	if err != nil {
		l.t.Fatal(err)
	}
	return m.(*wire.LoadList).Nodes
}

// TestNodeLoads checks that a node that is up is asked, and once for all that want its load.
func TestNodeLoads(t *testing.T) {
	l := newLookedAt(t)
	said := &wire.Sampled{Threads: 7}
	want := []wire.NodeLoad{{ID: 4, Errno: uint32(unix.EHOSTDOWN)}, {ID: 3, Load: said}, {ID: 3, Load: said}}
	got := l.loads([]wire.NodeID{4, 3, 3}, func() {
		node := l.node()
		receive(t, node, 0, new(wire.Sample))
		send(t, node, 0, said)
	})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := l.loads(nil, func() {}); len(got) != 3 || got[0].Load == nil || got[1].Errno == 0 || got[2].Errno == 0 {
		t.Errorf("just after that: got %+v", got)
	}
}

// TestLoadRefused checks that a wrong answer of a node is no load.
func TestLoadRefused(t *testing.T) {
	l := newLookedAt(t)
	got := l.loads([]wire.NodeID{3}, func() {
		node := l.node()
		receive(t, node, 0, new(wire.Sample))
		send(t, node, 0, new(wire.Hardware))
	})
	if len(got) != 1 || got[0].Load != nil || got[0].Errno != uint32(unix.EIO) {
		t.Errorf("got %+v", got)
	}
}
