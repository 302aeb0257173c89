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

// TestNumbersAreOnDiskFirst has a node ask for numbers twice before the first are on disk. It hears
// of each block when the block is on disk.
func TestNumbersAreOnDiskFirst(t *testing.T) {
	s := scriptWith(t, Config{})
	s.inputs("node 0")
	if err := s.comes("a", 0, wire.Inventory{}, nil); err != nil {
		t.Fatal(err)
	}
	a, before := s.session("a"), s.granted()
	step := func(in Input) (keep *Keep, granted []wire.Block) {
		t.Helper()
		for _, o := range s.core.Step(s.now, in) {
			switch o := o.(type) {
			case Keep:
				keep = &o
			case ToNode:
				if m, is := o.Message.(*wire.BlocksGranted); is {
					granted = append(granted, m.Blocks...)
				}
			}
		}
		return keep, granted
	}
	wanted := FromNode{Session: a.id, Message: &wire.BlocksWanted{Blocks: 1}}
	first, granted := step(wanted)
	if first == nil || !first.Later || len(granted) > 0 {
		t.Fatalf("got %+v, and %v is granted", first, granted)
	}
	if again, granted := step(wanted); again != nil || len(granted) > 0 {
		t.Errorf("got %+v, and %v is granted", again, granted)
	}
	second, granted := step(Kept{Number: first.Number})
	if second == nil || len(granted) != 1 {
		t.Fatalf("got %+v, and %v is granted", second, granted)
	}
	free := s.core.alloc.Usage().Free
	if third, granted := step(Kept{Number: second.Number, Err: errors.New("the disk is full")}); third != nil || len(granted) > 0 {
		t.Errorf("got %+v, and %v is granted", third, granted)
	}
	if now := s.core.alloc.Usage().Free; now <= free || !slices.Equal(s.core.blocks.of[0], append(before, granted...)) {
		t.Errorf("%d numbers are free, %d were; the node may claim %v", now, free, s.core.blocks.of[0])
	}
}

// TestFullDiskForAWhile has a node give numbers back, which cannot be kept, and another node get
// them. The next master believes the other node.
func TestFullDiskForAWhile(t *testing.T) {
	cfg := Config{}
	s := scriptWith(t, cfg)
	s.inputs("node 0", "node 1")
	come := func(name string, node int, blocks ...wire.Block) (*session, []wire.Block) {
		t.Helper()
		s.sent = nil
		_ = s.comes(name, node, wire.Inventory{Blocks: blocks}, nil) // a refused session is granted nothing
		return s.session(name), s.granted()
	}
	a, lost := come("a", 0)
	s.kept[Blocks].err = errors.New("the disk is full")
	s.fromNode(a, 0, &wire.BlocksReturned{Blocks: lost})
	s.kept[Blocks].err = nil
	_, got := come("b", 1)
	if len(lost) != 1 || !slices.Contains(got, lost[0]) {
		t.Fatalf("one node has given %v back, and another one got %v", lost, got)
	}
	s.begin(cfg)
	s.step(KeeperFound{})
	_, _ = come("a again", 0)
	if b, _ := come("b again", 1, got...); b.emptying {
		t.Error("a node that has got the numbers of another one is not believed")
	}
}

// TestProcessesOfNodesToCome lists nodes before they have come to this master. Their processes
// still count: an administrator may wait for a node to be drained.
func TestProcessesOfNodesToCome(t *testing.T) {
	s := scriptWith(t, Config{})
	s.inputs("node 0", "node 1")
	s.begin(Config{})
	s.step(KeeperFound{Held: []Held{{PID: 60, Adopted: wire.Adopted{PID: 60, Owner: ownership(1, 1000)}}}})
	for _, n := range s.core.NodeList() {
		if want := uint32(n.ID); n.Procs != want {
			t.Errorf("node %d has %d processes, want %d", n.ID, n.Procs, want)
		}
	}
}

// TestBlocksAreKept has a node come, get numbers and give some back. The next master knows the
// node's numbers, grants them to no other node, and takes them back when the node does not come.
func TestBlocksAreKept(t *testing.T) {
	cfg := Config{}
	s := scriptWith(t, cfg)
	s.inputs("node 0", "node 1")
	come := func(name string, node int, blocks ...wire.Block) (*session, []wire.Block) {
		t.Helper()
		_ = s.comes(name, node, wire.Inventory{Blocks: blocks}, nil) // a refused session is granted nothing
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
