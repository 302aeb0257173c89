package core

import (
	"errors"
	"slices"
	"testing"
	"time"

	"bproc/wire"
)

// granted returns the blocks that were granted last.
func (s *script) granted() (got []wire.Block) {
	for _, o := range s.sent {
		if o, ok := o.(ToNode); ok {
			if m, ok := o.Message.(*wire.BlocksGranted); ok {
				got = append(got, m.Blocks...)
			}
		}
	}
	return got
}

// TestBlocksAreKept has a node come, get numbers and give some back. The next master knows
// what it has, grants that to nobody else, and takes it back when the node does not come.
func TestBlocksAreKept(t *testing.T) {
	cfg := Config{}
	s := scriptWith(t, cfg)
	s.inputs("node 0", "node 1")
	come := func(name string, node int, blocks ...wire.Block) (*session, []wire.Block) {
		t.Helper()
		_ = s.comes(name, node, wire.Inventory{Blocks: blocks}, nil) // one that is refused is granted nothing
		return s.session(name), s.granted()
	}
	next := func() {
		t.Helper()
		s.begin(cfg)
		s.step(KeeperFound{})
	}
	_, a := come("a", 0)
	s.sent = nil
	s.fromNode(s.session("a"), 0, &wire.BlocksWanted{Blocks: 1})
	a = append(a, s.granted()...)
	if len(a) != 2 {
		t.Fatalf("got %v, want 2 blocks", a)
	}
	s.fromNode(s.session("a"), 0, &wire.BlocksReturned{Blocks: a[1:]})

	next()
	if _, b := come("b", 1); len(b) != 1 || slices.Contains(b, a[0]) {
		t.Errorf("another node gets %v, and %v is granted", b, a[0])
	}
	if sess, _ := come("a again", 0, a[0]); sess.emptying {
		t.Error("a node that claims what it has is not believed")
	}

	next()
	if sess, _ := come("b again", 1, a[0]); !sess.emptying {
		t.Error("a node that claims what another has is believed")
	}
	free := s.core.alloc.Usage().Free
	s.now = s.now.Add(testLease + LeaseMargin + time.Second)
	s.step(Tick{})
	if now := s.core.alloc.Usage().Free; now != free+4096 || len(s.core.blocks.of[0]) > 0 {
		t.Errorf("the numbers of a node that has not come: %d are free, and %d were", now, free)
	}

	s.kept[Blocks].err = errors.New("the disk is full")
	free = s.core.alloc.Usage().Free
	if sess, got := come("a once more", 0); len(got) > 0 || !sess.emptying || s.core.alloc.Usage().Free != free {
		t.Errorf("numbers that could not be kept are granted: %v", got)
	}
}
