package master

import (
	"testing"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// list returns what a client is told of the machines of nodes.
func (l *lookedAt) list(request *wire.ListHardware, meanwhile func()) (all []wire.NodeHardware) {
	l.t.Helper()
	request.Version = wire.Version
	client := l.ask(core.Caller{UID: 1000}, request)
	meanwhile()
	for reader := wire.NewReader(client); ; {
		m, _, err := reader.Read()
		if err != nil {
			l.t.Fatal(err)
		}
		list := m.(*wire.HardwareList)
		if all = append(all, list.Nodes...); list.Last {
			return all
		}
	}
}

// TestHardware checks that a node's report of its machine is kept, even while the node is down.
// Nodes that are up are asked again if the answer is to be fresh.
func TestHardware(t *testing.T) {
	l := newLookedAt(t)
	said := &wire.Hardware{Model: "old", Cores: 7}
	l.m.input(t, core.HardwareRead{Session: l.sess.id, Hardware: said})
	l.m.input(t, core.HardwareRead{Session: 4711, Hardware: said}) // the session has ended
	for _, h := range l.list(&wire.ListHardware{}, func() {}) {
		if h.Errno != 0 || (h.Hardware != nil) != (h.ID == 3) || (h.At != 0) != (h.ID == 3) {
			t.Errorf("got %+v", h)
		}
	}
	all := l.list(&wire.ListHardware{Nodes: []wire.NodeID{3, 4}, Fresh: true}, func() {
		node := l.node()
		receive(t, node, 0, &wire.ReadHardware{Fresh: true})
		send(t, node, 0, &wire.Hardware{Model: "new"})
	})
	if len(all) != 2 || all[0].Errno != 0 || all[0].Hardware.Model != "new" || all[1].Errno != uint32(unix.EHOSTDOWN) {
		t.Errorf("got %+v", all)
	}
	l.m.input(t, core.NodeLost{Session: l.sess.id})
	if all := l.list(&wire.ListHardware{Nodes: []wire.NodeID{3}}, func() {}); all[0].Hardware == nil || all[0].Hardware.Model != "new" {
		t.Errorf("of a node that is down: got %+v", all)
	}
}

// TestHardwareRefused checks that a wrong report of a node changes nothing, and ends nothing.
func TestHardwareRefused(t *testing.T) {
	for name, answer := range map[string]wire.Message{
		"text for a terminal": &wire.Hardware{Model: "\x1b[2J"},
		"too many disks":      &wire.Hardware{Disks: make([]wire.Disk, 100)},
		"another message":     new(wire.KillAll),
		"too long":            &wire.Hardware{Failed: []string{string(make([]byte, maxAnswer))}},
		"no answer":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLookedAt(t)
			all := l.list(&wire.ListHardware{Nodes: []wire.NodeID{3}, Fresh: true}, func() {
				node := l.node()
				receive(t, node, 0, &wire.ReadHardware{Fresh: true})
				if answer != nil {
					_ = wire.Write(node, 0, answer) // it may not be read to its end
				}
				node.Close()
			})
			if len(all) != 1 || all[0].Errno == 0 || all[0].Hardware != nil {
				t.Errorf("got %+v", all)
			}
		})
	}
}

func TestHardwareOfTooMany(t *testing.T) {
	l := newLookedAt(t)
	client := l.ask(core.Caller{UID: 1000}, &wire.ListHardware{Version: wire.Version, Nodes: make([]wire.NodeID, 4)})
	receive(t, client, 0, &wire.Failed{Stage: wire.StageRequest, Errno: uint32(unix.EINVAL), Text: "more nodes are given than there are"})
}
