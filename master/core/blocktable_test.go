package core

import (
	"errors"
	"slices"
	"testing"
	"time"

	"bproc/wire"
)

// TestBlocksAreKept has a node come, get numbers and give some back. The next master knows
// what it has, grants that to nobody else, and takes it back when the node does not come.
func TestBlocksAreKept(t *testing.T) {
	cfg := Config{BlockSize: 1024, Gap: 1024}
	s := scriptWith(t, cfg)
	s.inputs("node 0", "node 1")
	come := func(name string, node int, blocks ...wire.Block) (*session, []wire.Block) {
		t.Helper()
		s.comes(name, node, wire.Inventory{Blocks: blocks}, nil)
		var got []wire.Block
		for _, o := range s.sent {
			if o, ok := o.(ToNode); ok {
				if m, ok := o.Message.(*wire.BlocksGranted); ok {
					got = append(got, m.Blocks...)
				}
			}
		}
		return s.session(name), got
	}
	next := func() {
		t.Helper()
		s.begin(cfg)
		s.step(KeeperFound{})
	}
	_, a := come("a", 0)
	if len(a) != firstBlocks {
		t.Fatalf("got %v, want %d blocks", a, firstBlocks)
	}
	s.fromNode(s.session("a"), 0, &wire.BlocksReturned{Blocks: a[1:]})

	next()
	if _, b := come("b", 1); len(b) != firstBlocks || slices.Contains(b, a[0]) {
		t.Errorf("another node gets %v, and %v is granted", b, a[0])
	}
	if sess, _ := come("a again", 0, a[0]); sess.emptying {
		t.Error("a node that claims what it has is not believed")
	}

	next()
	if sess, _ := come("b again", 1, a[0]); !sess.emptying {
		t.Error("a node that claims what another has is believed")
	}
	free := s.core.alloc.Free(0)
	s.now = s.now.Add(testLease + LeaseMargin + time.Second)
	s.step(Tick{})
	if now := s.core.alloc.Free(0); now != free+firstBlocks || len(s.core.blocks.of[0]) > 0 {
		t.Errorf("the numbers of a node that has not come: %d blocks are free, and %d were", now, free)
	}

	s.kept[Blocks].err = errors.New("the disk is full")
	free = s.core.alloc.Free(0)
	if sess, got := come("a once more", 0); len(got) > 0 || !sess.emptying || s.core.alloc.Free(0) != free {
		t.Errorf("numbers that could not be kept are granted: %v", got)
	}
}
