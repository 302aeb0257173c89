package pidmap_test

import (
	"errors"
	"testing"

	"bproc/pidmap"
	"bproc/wire"
)

func contains(outer, inner wire.Block) bool {
	return outer.First <= inner.First && inner.End() <= outer.End()
}

// A node's first block is at its home, with its gap. No other node gets numbers there, even after
// the block was given back.
func TestHome(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{})
	homes := map[wire.NodeID]wire.Block{1: a.NewHome(1), 2: a.NewHome(2)}
	for range 2 {
		for node, home := range homes {
			first, second := mustGrant(t, a, node), mustGrant(t, a, node)
			if home.Count != 8192 || first.First != home.First || first.End()+pidmap.Gap(first) != home.End() || contains(home, second) {
				t.Errorf("node %d with home %v got %v and %v", node, home, first, second)
			}
		}
		a.Return(1)
		if err := a.Release(2, []wire.Block{{First: homes[2].First, Count: 6144}}); err != nil {
			t.Fatal(err)
		}
		for node := wire.NodeID(3); node < 40; node++ {
			for _, b := range grantAll(t, a, node) {
				for other, home := range homes {
					if home.First < b.End() && b.First < home.End() {
						t.Errorf("node %d got %v, which is at home on node %d", node, b, other)
					}
				}
			}
		}
		for node := wire.NodeID(1); node < 40; node++ {
			a.Return(node)
		}
	}
}

func TestClaimOfAnothersHome(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{})
	home := a.NewHome(1)
	for _, c := range []struct {
		block wire.Block
		ok    bool
	}{
		{wire.Block{First: home.First, Count: 1024}, false},
		{wire.Block{First: home.First - 1000, Count: 1001}, false},
		{wire.Block{First: home.End() - 1, Count: 1}, false},
	} {
		if err := a.Claim(2, []wire.Block{c.block}); !errors.Is(err, pidmap.ErrBlocks) {
			t.Errorf("%v claimed by another node: %v, want %v", c.block, err, pidmap.ErrBlocks)
		}
		if err := a.Claim(1, []wire.Block{c.block}); err != nil {
			t.Error(err)
		}
		a.Return(1)
	}
}

// Homes outlive an allocator, and another layout.
func TestHomeAgain(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{})
	one, two := a.NewHome(1), a.NewHome(2)
	for _, cfg := range []pidmap.Config{{}, {Nodes: 3}, {Nodes: 4000}, smallest} {
		a := pidmap.NewAllocator(cfg)
		usage := a.Usage()
		for node, home := range map[wire.NodeID]wire.Block{1: one, 2: two} {
			if err := a.Home(node, home); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Home(3, wire.Block{First: one.First, Count: 1}); !errors.Is(err, pidmap.ErrBlocks) {
			t.Errorf("home of two nodes: %v, want %v", err, pidmap.ErrBlocks)
		}
		if err := a.Home(3, wire.Block{First: 1, Count: 1}); !errors.Is(err, pidmap.ErrBlocks) {
			t.Errorf("home outside of the zone: %v, want %v", err, pidmap.ErrBlocks)
		}
		for node := wire.NodeID(3); node < 6; node++ {
			for _, b := range append(grantAll(t, a, node), a.NewHome(node)) {
				if one.First < b.End() && b.First < one.End() || two.First < b.End() && b.First < two.End() {
					t.Errorf("%+v: node %d got %v, homes are %v and %v", cfg, node, b, one, two)
				}
			}
		}
		for node := range wire.NodeID(6) {
			a.Return(node)
			a.LeaveHome(node)
			a.LeaveHome(node)
		}
		if got := a.Usage(); got != usage {
			t.Errorf("%+v: %+v in the end, want %+v", cfg, got, usage)
		}
	}
}

// Nodes beyond the expected number have smaller homes, and in the end none. Each node with a home
// gets its block there, whatever the others have.
func TestMoreNodesThanExpected(t *testing.T) {
	for _, cfg := range []pidmap.Config{{}, {Nodes: 4096}, smallest} {
		a := pidmap.NewAllocator(cfg)
		grantAll(t, a, 1<<20) // takes what it can get before all others
		node, size := wire.NodeID(0), int32(a.Usage().Home)
		for ; ; node++ {
			home := a.NewHome(node)
			if home.Count == 0 {
				break
			}
			if home.Count > size || home.Count < pidmap.MinBlock {
				t.Fatalf("%+v: home %d has %d numbers, and the one before %d", cfg, node, home.Count, size)
			}
			size = home.Count
		}
		expected := cfg.Nodes
		if expected == 0 {
			expected = pidmap.DefaultNodes
		}
		if int(node) < expected {
			t.Errorf("%+v: %d nodes have a home", cfg, node)
		}
		for n := range node {
			mustGrant(t, a, n)
		}
		a.Return(5)
		a.LeaveHome(5)
		if cfg.Numbers == 0 && a.NewHome(node).Count == 0 {
			t.Errorf("%+v: the home that was left is nobody's", cfg)
		}
	}
}
