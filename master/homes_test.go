package master

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"bproc/wire"
)

func homeCore(t *testing.T, kept *memory) *core {
	t.Helper()
	nodes := load(t, kept)
	alloc, err := nodes.allocator(0)
	if err != nil {
		t.Fatal(err)
	}
	return newCore(slog.New(slog.DiscardHandler), time.Minute, nodes, alloc, nil)
}

// A node has its home for ever, and with it the first blocks that it is lent.
func TestHomeOutlivesTheMaster(t *testing.T) {
	kept := new(memory)
	c := homeCore(t, kept)
	homes := map[wire.NodeID]wire.Block{}
	for _, key := range []string{"a", "b"} {
		n, home, err := c.joined(key, -1, key)
		if err != nil || home.Count == 0 || n.Home != home {
			t.Fatalf("node %+v, home %v, %v", n, home, err)
		}
		homes[n.ID] = home
	}
	c = homeCore(t, kept)
	for node, home := range homes {
		blocks, err := c.alloc.Lease(node, firstBlocks)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.First < home.First || b.End() > home.End() {
				t.Errorf("node %d with home %v is lent %v", node, home, b)
			}
		}
	}
	if _, home, err := c.joined("c", -1, "c"); err != nil || home.Count == 0 || home == homes[0] || home == homes[1] {
		t.Errorf("a third one: home %v, %v", home, err)
	}
}

// As long as nodes may not be back yet, nobody knows which numbers are nobody's.
func TestNoHomeWhileGhostsAreFound(t *testing.T) {
	c := homeCore(t, new(memory))
	c.found[70001] = nil
	if n, home, err := c.joined("a", -1, "a"); err != nil || home.Count != 0 || n.Home.Count != 0 {
		t.Errorf("node %+v, home %v, %v", n, home, err)
	}
}

// A home that cannot be kept is none.
func TestHomeThatIsNotKept(t *testing.T) {
	kept := new(memory)
	c := homeCore(t, kept)
	if _, _, err := c.joined("a", 0, "a"); err != nil {
		t.Fatal(err)
	}
	free := c.alloc.Free(7)
	kept.err = errors.New("disk is full")
	if _, home, err := c.joined("b", 1, "b"); err == nil || home.Count != 0 || c.alloc.Free(7) != free {
		t.Errorf("home %v, %v, %d blocks free, were %d", home, err, c.alloc.Free(7), free)
	}
}

func TestHomesOfADamagedTable(t *testing.T) {
	kept := &memory{records: map[string][]byte{
		"0": []byte(`{"ID":0,"Key":"a","Home":{"First":1048576,"Count":32768}}`),
		"1": []byte(`{"ID":1,"Key":"b","Home":{"First":1048577,"Count":32768}}`),
	}}
	if _, err := load(t, kept).allocator(0); err == nil {
		t.Error("two nodes have the same numbers at home")
	}
}
