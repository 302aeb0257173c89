package master

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// heardSlave keeps what the core says to a slave.
type heardSlave struct {
	quiet
	said []wire.Message
}

func (h *heardSlave) Put(_ uint64, m wire.Message) error {
	h.said = append(h.said, m)
	return nil
}

// TestBlocksAreKept has a node come, get numbers and give some back. The next master knows
// what it has, grants that to nobody else, and takes it back when the node does not come.
func TestBlocksAreKept(t *testing.T) {
	kept, nodesKept := new(memory), new(memory)
	begin := func(now time.Time) *core {
		t.Helper()
		l, err := loadBlocks(kept)
		if err != nil {
			t.Fatal(err)
		}
		alloc := pidmap.NewAllocator(pidmap.Config{BlockSize: 1024, Gap: 1024})
		if err := l.reserve(alloc); err != nil {
			t.Fatal(err)
		}
		c := newCore(slog.New(slog.DiscardHandler), testLease, load(t, nodesKept), alloc, quiet{})
		c.front, c.blocks = &madeUpFrontEnd{procs: map[wire.PID]frontProc{}}, l
		c.foundGhosts(nil, nil, nil, now)
		return c
	}
	come := func(c *core, key string, blocks ...wire.Block) (*session, []wire.Block) {
		t.Helper()
		out := new(heardSlave)
		s := &session{peer: link.Peer{Key: key}, link: quiet{}, out: out}
		s.inventory.Blocks = blocks
		if err := c.sessionUp(s, nodesNow); err != nil {
			t.Fatal(err)
		}
		var got []wire.Block
		for _, m := range out.said {
			if m, ok := m.(*wire.BlocksGranted); ok {
				got = append(got, m.Blocks...)
			}
		}
		return s, got
	}
	c := begin(nodesNow)
	for _, key := range []string{"a", "b"} {
		if _, _, err := c.nodes.join(key, -1, key, nodesNow, unconnected); err != nil {
			t.Fatal(err)
		}
	}
	s, a := come(c, "a")
	if len(a) != firstBlocks {
		t.Fatalf("got %v, want %d blocks", a, firstBlocks)
	}
	c.takeBack(s, a[1:])

	c = begin(nodesNow)
	if _, b := come(c, "b"); len(b) != firstBlocks || b[0] == a[0] || b[1] == a[0] {
		t.Errorf("another node gets %v, and %v is granted", b, a[0])
	}
	if s, _ := come(c, "a", a[0]); s.emptying {
		t.Error("a node that claims what it has is not believed")
	}

	c = begin(nodesNow)
	if s, _ := come(c, "b", a[0]); !s.emptying {
		t.Error("a node that claims what another has is believed")
	}
	free := c.alloc.Free(0)
	c.tick(nodesNow.Add(testLease + leaseMargin + time.Second))
	if now := c.alloc.Free(0); now != free+firstBlocks || len(c.blocks.of[0]) > 0 {
		t.Errorf("the numbers of a node that has not come: %d blocks are free, and %d were", now, free)
	}

	kept.err = errors.New("the disk is full")
	if s, got := come(c, "a"); len(got) > 0 || !s.emptying {
		t.Errorf("numbers that could not be kept are granted: %v", got)
	}
}
