package pidmap_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

func TestLeaseSizes(t *testing.T) {
	for _, c := range []struct {
		cfg   pidmap.Config
		count int32
		free  int
		apart wire.PID
	}{
		{pidmap.Config{}, 8192, 192, 16384},
		{pidmap.Config{BlockSize: 16}, 16, 98304, 32},
		{pidmap.Config{BlockSize: 1024, Gap: 512}, 1024, 2048, 1536},
		{pidmap.Config{BlockSize: 1 << 18}, 1 << 18, 11, 1<<18 + 8192},
	} {
		t.Run(fmt.Sprint(c.cfg), func(t *testing.T) {
			a := pidmap.NewAllocator(c.cfg)
			if a.Free(3) != c.free {
				t.Errorf("Free = %d, want %d", a.Free(3), c.free)
			}
			blocks, err := a.Grant(3, c.free)
			if err != nil {
				t.Fatal(err)
			}
			if err := pidmap.Validate(blocks); err != nil {
				t.Error(err)
			}
			if b := blocks[1]; b.Count != c.count || b.First-blocks[0].First != c.apart {
				t.Errorf("second block is %v, want %d numbers, %d after the first", b, c.count, c.apart)
			}
			if _, err := a.Grant(4, 1); !errors.Is(err, pidmap.ErrExhausted) {
				t.Errorf("one more: %v, want ErrExhausted", err)
			}
		})
	}
}

func TestOwner(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{BlockSize: 16, Gap: 8})
	for _, node := range []wire.NodeID{5, 6} {
		if _, err := a.Grant(node, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		pid  wire.PID
		node wire.NodeID
		ok   bool
	}{
		{"before the zone", pidmap.Node - 1, 0, false},
		{"first", pidmap.Node, 5, true},
		{"last", pidmap.Node + 15, 5, true},
		{"gap", pidmap.Node + 23, 5, true},
		{"next block", pidmap.Node + 24, 6, true},
		{"not granted", pidmap.Node + 48, 0, false},
		{"end of the zone", pidmap.Max - 1, 0, false},
		{"behind the zone", pidmap.Max, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if node, ok := a.Owner(c.pid); ok != c.ok || node != c.node {
				t.Errorf("Owner(%d) = %v, %v, want %v, %v", c.pid, node, ok, c.node, c.ok)
			}
		})
	}
}

func TestLeastRecentlyReturnedFirst(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{BlockSize: 1 << 18}) // 11 blocks
	all, err := a.Grant(1, 11)
	if err != nil {
		t.Fatal(err)
	}
	order := []int{7, 2, 9}
	for _, i := range order {
		if err := a.Release(1, all[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range order {
		got, err := a.Grant(2, 1)
		if err != nil || got[0] != all[i] {
			t.Errorf("granted %v, %v, want %v", got, err, all[i])
		}
	}
	if err := a.Release(1, all[7:8]); !errors.Is(err, pidmap.ErrBlocks) {
		t.Errorf("release of another node's block: %v, want ErrBlocks", err)
	}
	a.Return(1)
	if a.Free(3) != 8 {
		t.Errorf("%d free after Return, want 8", a.Free(3))
	}
}

func TestClaim(t *testing.T) {
	const node = pidmap.Node
	fresh := func() *pidmap.Allocator {
		a := pidmap.NewAllocator(pidmap.Config{BlockSize: 64, Gap: 64})
		if _, err := a.Grant(1, 2); err != nil { // node+0, node+128
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		name   string
		blocks []wire.Block
		ok     bool
		free   int // fewer
	}{
		{"free block", []wire.Block{block(node+256, 64)}, true, 1},
		{"other sizes", []wire.Block{block(node+300, 200)}, true, 3},
		{"small ones in one place", []wire.Block{block(node+256, 16), block(node+288, 16)}, true, 1},
		{"in a gap", []wire.Block{block(node+64, 8)}, true, 0},
		{"another's", []wire.Block{block(node+256, 64), block(node+100, 40)}, false, 0},
		{"end of the zone", []wire.Block{block(pidmap.Max-10, 10)}, true, 1},
		{"invalid", []wire.Block{block(1, 64)}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := fresh()
			free := a.Free(3)
			err := a.Claim(2, c.blocks)
			if (err == nil) != c.ok {
				t.Fatalf("Claim: %v, want ok %v", err, c.ok)
			}
			if got := free - a.Free(3); got != c.free {
				t.Errorf("%d fewer blocks are free, want %d", got, c.free)
			}
			for _, b := range c.blocks {
				if n, ok := a.Owner(b.First); c.ok && (!ok || n != 2) {
					t.Errorf("Owner(%d) = %v, %v, want 2", b.First, n, ok)
				}
			}
			a.Return(2)
			if a.Free(3) != free {
				t.Errorf("%d free after Return, want %d", a.Free(3), free)
			}
		})
	}
	a := fresh()
	if err := a.Claim(1, []wire.Block{block(node, 64)}); err != nil {
		t.Errorf("claim of the same block by its node: %v", err)
	}
}

// TestAllocatorAgainstModel grants, claims, releases and returns at random and
// compares with a list of who has what.
func TestAllocatorAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &model{
		T:         t,
		rng:       rand.New(rand.NewPCG(seed, 0)),
		allocator: pidmap.NewAllocator(pidmap.Config{BlockSize: 1 << 16, Gap: 1 << 14}),
		has:       map[wire.NodeID][]wire.Block{},
	}
	free := m.allocator.Free(3)
	for range 5000 {
		m.step(wire.NodeID(m.rng.IntN(6)))
		m.check()
	}
	for node := range m.has {
		m.allocator.Return(node)
	}
	if got := m.allocator.Free(3); got != free {
		t.Errorf("%d blocks are free when all were returned, want %d", got, free)
	}
}

// model is an allocator and who should have what of it.
type model struct {
	*testing.T
	rng       *rand.Rand
	allocator *pidmap.Allocator
	has       map[wire.NodeID][]wire.Block
}

// step does something for a node.
func (m *model) step(node wire.NodeID) {
	m.Helper()
	switch m.rng.IntN(8) {
	case 0:
		m.allocator.Return(node)
		delete(m.has, node)
	case 1:
		if n := len(m.has[node]); n > 0 {
			i := m.rng.IntN(n)
			if err := m.allocator.Release(node, m.has[node][i:i+1]); err != nil {
				m.Fatal(err)
			}
			m.has[node] = slices.Delete(m.has[node], i, i+1)
		}
	case 2:
		b := block(pidmap.Node+wire.PID(m.rng.IntN(3<<20)), int32(1+m.rng.IntN(1<<15)))
		if !slices.Contains(m.has[node], b) && m.allocator.Claim(node, []wire.Block{b}) == nil {
			m.has[node] = append(m.has[node], b)
		}
	default:
		blocks, err := m.allocator.Grant(node, 1+m.rng.IntN(3))
		if err != nil && !errors.Is(err, pidmap.ErrExhausted) {
			m.Fatal(err)
		}
		m.has[node] = append(m.has[node], blocks...)
	}
}

// check compares the owners of the ends of all blocks, and that none overlap.
func (m *model) check() {
	m.Helper()
	var all []wire.Block
	for node, blocks := range m.has {
		all = append(all, blocks...)
		for _, b := range blocks {
			for _, p := range []wire.PID{b.First, b.End() - 1} {
				if n, ok := m.allocator.Owner(p); !ok || n != node {
					m.Fatalf("Owner(%d) = %v, %v, want %v", p, n, ok, node)
				}
			}
		}
	}
	if err := pidmap.Validate(all); err != nil {
		m.Fatal(err)
	}
}
