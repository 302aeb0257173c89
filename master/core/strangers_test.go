package core

import (
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

// TestManyStrangers has a node come with more processes without ghosts than are killed one by one:
// all are killed at once.
func TestManyStrangers(t *testing.T) {
	for _, test := range []struct {
		strangers, signals int
		numbers            bool // the node has some
		emptying           bool
	}{
		{100, 100, false, false},
		{maxStrangers, maxStrangers, false, false},
		{maxStrangers + 1, 0, false, true}, // more than the node can have at all
		{maxStrangers + 1, maxStrangers, true, true},
	} {
		s := newScript(t)
		s.inputs("node 0 has 1048576+384")
		var inventory wire.Inventory
		if test.numbers {
			inventory.Blocks = []wire.Block{{First: pidmap.Node, Count: 384}}
		}
		for i := range wire.PID(test.strangers) {
			inventory.PIDs = append(inventory.PIDs, pidmap.Node+i)
		}
		if err := s.comes("a", 0, inventory, nil); err != nil {
			t.Fatal(err)
		}
		signals, all := 0, false
		for _, o := range s.sent {
			if o, ok := o.(ToNode); ok {
				switch o.Message.(type) {
				case *wire.Signal:
					signals++
				case *wire.KillAll:
					all = true
				}
			}
		}
		if signals != test.signals || all != test.emptying || s.session("a").emptying != test.emptying {
			t.Errorf("%d strangers: %d are killed, all: %t; the node is to become empty: %t", test.strangers, signals, all, s.session("a").emptying)
		}
	}
}
