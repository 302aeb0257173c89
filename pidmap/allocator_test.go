package pidmap_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

// smallest is the smallest zone: four homes, and a pool for two more blocks.
var smallest = pidmap.Config{Numbers: pidmap.MinNumbers, Nodes: 4}

func mustGrant(t *testing.T, a *pidmap.Allocator, node wire.NodeID) wire.Block {
	t.Helper()
	b, err := a.Grant(node)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// grantAll grants a node all that it can have.
func grantAll(t *testing.T, a *pidmap.Allocator, node wire.NodeID) (all []wire.Block) {
	t.Helper()
	for {
		b, err := a.Grant(node)
		if errors.Is(err, pidmap.ErrExhausted) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  pidmap.Config
		want pidmap.Usage
		ok   bool
	}{
		{"usual", pidmap.Config{}, pidmap.Usage{Numbers: 3 << 20, Home: 8192, Homes: 256, Pool: 1 << 20, Free: 1 << 20}, true},
		{"few nodes", pidmap.Config{Nodes: 3}, pidmap.Usage{Numbers: 3 << 20, Home: 1 << 16, Homes: 4, Pool: 3<<20 - 4<<16, Free: 3<<20 - 4<<16}, true},
		{"many nodes", pidmap.Config{Nodes: 4000}, pidmap.Usage{Numbers: 3 << 20, Home: 512, Homes: 4096, Pool: 1 << 20, Free: 1 << 20}, true},
		{"few processes", pidmap.Config{Processes: 1000}, pidmap.Usage{Numbers: 3 << 20, Home: 2048, Homes: 256, Pool: 3<<20 - 1<<19, Free: 3<<20 - 1<<19}, true},
		{"many processes", pidmap.Config{Processes: 100_000}, pidmap.Usage{Numbers: 3 << 20, Home: 8192, Homes: 256, Pool: 1 << 20, Free: 1 << 20}, true},
		{"smallest", smallest, pidmap.Usage{Numbers: 3072, Home: 512, Homes: 4, Pool: 1024, Free: 1024}, true},
		{"rounded down", pidmap.Config{Numbers: 3<<18 + 17, Nodes: 100}, pidmap.Usage{Numbers: 3 << 18, Home: 4096, Homes: 128, Pool: 1 << 18, Free: 1 << 18}, true},
		{"too few for so many", pidmap.Config{Numbers: 3 << 18, Nodes: 1025}, pidmap.Usage{}, false},
		{"too few for any", pidmap.Config{Numbers: 3071, Nodes: 1}, pidmap.Usage{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.cfg.Check(); (err == nil) != c.ok || err != nil && !errors.Is(err, pidmap.ErrLayout) {
				t.Fatalf("Check() = %v, want ok %v", err, c.ok)
			}
			if got := pidmap.NewAllocator(c.cfg).Usage(); c.ok && got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// The numbers of a node double, and none are left over between a block and the next.
func TestBlocksDouble(t *testing.T) {
	a := pidmap.NewAllocator(pidmap.Config{Nodes: 4000})
	home := a.NewHome(7)
	sizes := []int32{}
	for range 7 {
		b := mustGrant(t, a, 7)
		sizes = append(sizes, b.Count+int32(pidmap.Gap(b)))
	}
	if want := []int32{512, 4096, 8192, 1 << 14, 1 << 15, 1 << 16, 1 << 17}; !slices.Equal(sizes, want) {
		t.Errorf("got blocks of %v, with their gaps, want %v", sizes, want)
	}
	if b := a.Blocks(7); !slices.ContainsFunc(b, func(b wire.Block) bool { return b == wire.Block{First: home.First, Count: 384} }) {
		t.Errorf("got %v, home is %v", b, home)
	}
}

// Nodes that take all they can get leave later nodes something, and leave all nodes their homes.
func TestFewDoNotStarveOthers(t *testing.T) {
	for _, cfg := range []pidmap.Config{{}, {Nodes: 4000}, smallest} {
		a := pidmap.NewAllocator(cfg)
		pool := a.Usage().Pool
		for node := range wire.NodeID(3) {
			a.NewHome(node)
			mustGrant(t, a, node)
		}
		grantAll(t, a, 0)
		if left := a.Usage().Free; 4*left < pool && left > 0 && pool > 1<<16 {
			t.Errorf("%+v: one node leaves %d of %d", cfg, left, pool)
		}
		if more := grantAll(t, a, 1); len(more) == 0 {
			t.Errorf("%+v: the second gets nothing", cfg)
		}
		if more := grantAll(t, a, 2); len(more) == 0 && pool > 1024 {
			t.Errorf("%+v: the third gets nothing", cfg)
		}
		first, second := a.Borrowed(0), a.Borrowed(1)
		if first > 3*second {
			t.Errorf("%+v: one has %d, the other %d", cfg, first, second)
		}
		for node := range wire.NodeID(3) {
			a.Return(node)
		}
		if left := a.Usage().Free; left != pool {
			t.Errorf("%+v: %d of %d are free in the end", cfg, left, pool)
		}
	}
}

func TestOwner(t *testing.T) {
	a := pidmap.NewAllocator(smallest)
	for _, node := range []wire.NodeID{5, 6} { // without homes
		mustGrant(t, a, node)
	}
	for _, c := range []struct {
		name string
		pid  wire.PID
		node wire.NodeID
		ok   bool
	}{
		{"before the zone", pidmap.Node - 1, 0, false},
		{"first", pidmap.Node, 5, true},
		{"last", pidmap.Node + 383, 5, true},
		{"gap", pidmap.Node + 511, 5, true},
		{"next block", pidmap.Node + 512, 6, true},
		{"not granted", pidmap.Node + 1024, 0, false},
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
	a := pidmap.NewAllocator(pidmap.Config{Nodes: 4000, Numbers: 3 << 19})
	var blocks []wire.Block
	for node := range wire.NodeID(64) { // neighbours do not merge when they are returned
		blocks = append(blocks, mustGrant(t, a, node))
	}
	order := []int{6, 2, 10}
	for _, i := range order {
		if err := a.Release(wire.NodeID(i), blocks[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	for n, i := range order {
		if got := mustGrant(t, a, wire.NodeID(100+n)); got != blocks[i] {
			t.Errorf("granted %v, want %v", got, blocks[i])
		}
	}
	if err := a.Release(1, blocks[7:8]); !errors.Is(err, pidmap.ErrBlocks) {
		t.Errorf("release of another node's block: %v, want ErrBlocks", err)
	}
}

func TestClaim(t *testing.T) {
	const node = pidmap.Node
	fresh := func() *pidmap.Allocator {
		a := pidmap.NewAllocator(pidmap.Config{})
		mustGrant(t, a, 1) // node+0, 3072 and a gap of 1024
		return a
	}
	for _, c := range []struct {
		name   string
		blocks []wire.Block
		ok     bool
		free   int // how many fewer are free
	}{
		{"free block", []wire.Block{block(node+4096, 3072)}, true, 4096},
		{"other sizes", []wire.Block{block(node+5000, 200)}, true, 384},
		{"small ones in one place", []wire.Block{block(node+5120, 16), block(node+5150, 16)}, true, 128},
		{"in a gap", []wire.Block{block(node+3500, 8)}, true, 0},
		{"another's", []wire.Block{block(node+5000, 64), block(node+3000, 400)}, false, 0},
		{"end of the zone", []wire.Block{block(pidmap.Max-10, 10)}, true, 0},
		{"invalid", []wire.Block{block(1, 64)}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := fresh()
			free := a.Usage().Free
			err := a.Claim(2, c.blocks)
			if (err == nil) != c.ok {
				t.Fatalf("Claim: %v, want ok %v", err, c.ok)
			}
			if got := free - a.Usage().Free; got != c.free {
				t.Errorf("%d fewer numbers are free, want %d", got, c.free)
			}
			for _, b := range c.blocks {
				if n, ok := a.Owner(b.First); c.ok && (!ok || n != 2) {
					t.Errorf("Owner(%d) = %v, %v, want 2", b.First, n, ok)
				}
			}
			a.Return(2)
			if now := a.Usage().Free; now != free {
				t.Errorf("%d free after Return, want %d", now, free)
			}
		})
	}
	a := fresh()
	if err := a.Claim(1, []wire.Block{block(node, 3072)}); err != nil || len(a.Blocks(1)) != 1 {
		t.Errorf("claim of the same block by its node: %v; it has %v", err, a.Blocks(1))
	}
}

// TestAllocatorAgainstModel grants, claims, releases and returns at random, and compares with a
// list of owners.
func TestAllocatorAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, cfg := range []pidmap.Config{{}, {Nodes: 16}, {Nodes: 4000}, {Nodes: 8, Numbers: 3 << 14}, smallest} {
		m := &model{
			T: t, rng: rng, allocator: pidmap.NewAllocator(cfg), has: map[wire.NodeID][]wire.Block{}, homes: map[wire.NodeID]wire.Block{},
		}
		usage := m.allocator.Usage()
		for range 5000 {
			m.step(wire.NodeID(m.rng.IntN(12)))
			m.check()
		}
		for node := range wire.NodeID(12) {
			m.allocator.Return(node)
			m.allocator.LeaveHome(node)
		}
		if got := m.allocator.Usage(); got != usage {
			t.Errorf("%+v when all were returned, want %+v", got, usage)
		}
	}
}

// model is an allocator, with what each node should have of it.
type model struct {
	*testing.T
	rng       *rand.Rand
	allocator *pidmap.Allocator
	has       map[wire.NodeID][]wire.Block
	homes     map[wire.NodeID]wire.Block
}

// step makes a random change for a node.
func (m *model) step(node wire.NodeID) {
	m.Helper()
	switch m.rng.IntN(12) {
	case 0:
		m.allocator.Return(node)
		delete(m.has, node)
	case 1, 2, 3:
		if n := len(m.has[node]); n > 0 {
			i := m.rng.IntN(n)
			if err := m.allocator.Release(node, m.has[node][i:i+1]); err != nil {
				m.Fatal(err)
			}
			m.has[node] = slices.Delete(m.has[node], i, i+1)
		}
	case 4:
		b := block(pidmap.Node+wire.PID(m.rng.IntN(3<<20)), int32(1+m.rng.IntN(1<<12)))
		if !slices.Contains(m.has[node], b) && m.allocator.Claim(node, []wire.Block{b}) == nil {
			m.has[node] = append(m.has[node], b)
		}
	case 5:
		m.leaves(node)
		if home := m.allocator.NewHome(node); home.Count > 0 {
			m.homes[node] = home
		}
	case 6:
		m.leaves(node)
	default:
		b, err := m.allocator.Grant(node)
		if err == nil {
			m.has[node] = append(m.has[node], b)
		} else if !errors.Is(err, pidmap.ErrExhausted) {
			m.Fatal(err)
		}
	}
}

// leaves has a node give up its home and all its blocks.
func (m *model) leaves(node wire.NodeID) {
	m.allocator.Return(node)
	m.allocator.LeaveHome(node)
	delete(m.has, node)
	delete(m.homes, node)
}

// check compares the owners of the ends of all blocks, and checks that no blocks overlap.
func (m *model) check() {
	m.Helper()
	var all, homes []wire.Block
	for node, blocks := range m.has {
		all = append(all, blocks...)
		for _, b := range blocks {
			for _, p := range []wire.PID{b.First, b.End() - 1} {
				if n, ok := m.allocator.Owner(p); !ok || n != node {
					m.Fatalf("Owner(%d) = %v, %v, want %v", p, n, ok, node)
				}
			}
			for other, home := range m.homes {
				if other != node && b.First < home.End() && home.First < b.End() {
					m.Fatalf("node %d has %v, and %v is at home on node %d", node, b, home, other)
				}
			}
		}
	}
	for _, home := range m.homes {
		homes = append(homes, home)
	}
	for _, ranges := range [][]wire.Block{all, homes} {
		if err := pidmap.Validate(ranges); err != nil {
			m.Fatal(err)
		}
	}
}

// No operation costs more with more nodes.
func BenchmarkAllocator(b *testing.B) {
	for _, nodes := range []int{16, 4096} {
		b.Run("", func(b *testing.B) {
			a := pidmap.NewAllocator(pidmap.Config{Nodes: pidmap.MaxNodes})
			for node := range nodes {
				a.NewHome(wire.NodeID(node))
				if _, err := a.Grant(wire.NodeID(node)); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				node := wire.NodeID(i % 16)
				if _, err := a.Grant(node); err != nil {
					b.Fatal(err)
				}
				a.Return(node)
			}
			b.ReportMetric(float64(nodes), "nodes")
		})
	}
}
