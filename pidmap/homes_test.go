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

func mustLease(t *testing.T, a *pidmap.Allocator, node wire.NodeID, n int) []wire.Block {
	t.Helper()
	blocks, err := a.Grant(node, n)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// A node's first blocks are at its home, and no other node gets numbers of there, also
// after they were given back.
func TestHome(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{BlockSize: 1 << 16}) // 42 blocks
	all := a.Free(2)
	homes := map[wire.NodeID]wire.Block{1: a.NewHome(1), 2: a.NewHome(2)}
	for node, home := range homes {
		if home.Count != 2*(1<<16+8192) {
			t.Fatalf("home of node %d is %v", node, home)
		}
		if a.Free(node) != all-2 || a.Free(3) != all-4 {
			t.Errorf("%d blocks free for node %d, %d for others; want %d and %d", a.Free(node), node, a.Free(3), all-2, all-4)
		}
	}
	for range 2 {
		for node, home := range homes {
			blocks := mustLease(t, a, node, 3)
			if !contains(home, blocks[0]) || !contains(home, blocks[1]) || contains(home, blocks[2]) || blocks[0] == blocks[1] {
				t.Errorf("node %d with home %v got %v", node, home, blocks)
			}
		}
		a.Return(1)
		if err := a.Release(2, []wire.Block{{First: homes[2].First, Count: 1 << 16}}); err != nil {
			t.Fatal(err)
		}
		for _, b := range mustLease(t, a, 3, a.Free(3)) {
			for node, home := range homes {
				if home.First < b.End() && b.First < home.End() {
					t.Errorf("node 3 got %v, which is at home on node %d", b, node)
				}
			}
		}
		a.Return(3)
		a.Return(2)
	}
}

func TestClaimOfAnothersHome(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{})
	home := a.NewHome(1)
	block := wire.Block{First: home.First, Count: pidmap.DefaultBlock}
	if err := a.Claim(2, []wire.Block{block}); !errors.Is(err, pidmap.ErrBlocks) {
		t.Errorf("claimed by another node: %v, want %v", err, pidmap.ErrBlocks)
	}
	if err := a.Claim(1, []wire.Block{block}); err != nil {
		t.Error(err)
	}
}

// Homes outlive an allocator, and other sizes of blocks.
func TestHomeAgain(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{})
	one, two := a.NewHome(1), a.NewHome(2)
	for _, size := range []int{0, 1024, 1 << 16} {
		a := pidmap.NewAllocator(pidmap.Config{BlockSize: size})
		all := a.Free(1)
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
		for _, b := range mustLease(t, a, 3, a.Free(3)) {
			if one.First < b.End() && b.First < one.End() || two.First < b.End() && b.First < two.End() {
				t.Errorf("blocks of %d: node 3 got %v, homes are %v and %v", size, b, one, two)
			}
		}
		a.Return(3)
		a.LeaveHome(1)
		a.LeaveHome(2)
		a.LeaveHome(2)
		if a.Free(1) != all {
			t.Errorf("blocks of %d: %d free in the end, want %d", size, a.Free(1), all)
		}
	}
}

// When homes are used up, nodes have none, and the other half of the zone is left.
func TestNoHomeLeft(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{})
	node := wire.NodeID(0)
	for a.NewHome(node).Count > 0 {
		node++
	}
	if node < 40 || a.Free(node) < 96 {
		t.Errorf("%d nodes have a home, and %d blocks are left", node, a.Free(node))
	}
	a.LeaveHome(5)
	if a.NewHome(node).Count == 0 {
		t.Error("the home that was left is nobody's")
	}
}
