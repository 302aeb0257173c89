package pidmap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/google/btree"

	"bproc/wire"
)

// ErrExhausted is the error for a node that can have no more numbers.
var ErrExhausted = errors.New("no more process numbers for this node")

// Allocator grants blocks of the node zone to nodes: first the one at home, and then those of the
// pool that the node may have (share.go).
type Allocator struct {
	layout    layout
	pool      *space
	homes     *space             // room for homes of the expected nodes
	cover     []uint16           // number of homes and grants that cover each unit
	grants    *btree.BTreeG[own] // no two blocks have a number in common
	settled   *btree.BTreeG[own] // homes; no two have a number in common
	nodes     map[wire.NodeID]*holding
	borrowed  int // numbers of the pool that are granted
	borrowers int // nodes that have some of them
}

// own is a range of numbers with its owner.
type own struct {
	node  wire.NodeID
	block wire.Block
}

// holding is what a node has.
type holding struct {
	home     wire.Block // Count 0: none
	blocks   []wire.Block
	borrowed int // numbers of the blocks that are not at home, with their gaps
}

// NewAllocator returns an allocator with nothing granted.
func NewAllocator(cfg Config) *Allocator {
	l := cfg.layout()
	byFirst := func(a, b own) bool { return a.block.First < b.block.First }
	const degree = 16
	return &Allocator{
		layout: l,
		pool:   newSpace(0, int(l.pool)/unit), homes: newSpace(int(l.pool)/unit, int(l.numbers)/unit),
		cover:  make([]uint16, zone/unit),
		grants: btree.NewG(degree, byFirst), settled: btree.NewG(degree, byFirst),
		nodes: map[wire.NodeID]*holding{},
	}
}

// Grant gives a node another block: the one at its home if the node has none there, or one of the
// pool.
func (a *Allocator) Grant(node wire.NodeID) (wire.Block, error) {
	h := a.holding(node)
	if b := Inside(h.home); h.home.Count > 0 && !slices.ContainsFunc(h.blocks, h.atHome) {
		if _, taken := a.conflict(own{node, b}); !taken {
			a.enter(h, own{node, b})
			return b, nil
		}
	}
	for size := a.share(h); size >= MinBlock; size /= 2 {
		if first, ok := a.pool.find(order(size)); ok {
			b := Inside(wire.Block{First: numberOf(first), Count: int32(size)})
			a.enter(h, own{node, b})
			return b, nil
		}
	}
	a.forget(node)
	return wire.Block{}, fmt.Errorf("grant numbers to node %d: %w", node, ErrExhausted)
}

// Claim enters blocks that a node had before this allocator was made, whatever the sizes were then.
// If one of them cannot be the node's, it enters none.
func (a *Allocator) Claim(node wire.NodeID, blocks []wire.Block) error {
	if err := Validate(blocks); err != nil {
		return fmt.Errorf("claim of node %d: %w", node, err)
	}
	for _, b := range blocks {
		if l, ok := a.conflict(own{node, b}); ok {
			return fmt.Errorf("claim of node %d: %w: numbers from %d are granted to node %d", node, ErrBlocks, l.block.First, l.node)
		}
		if other, ok := a.homeOfAnother(node, b); ok {
			return fmt.Errorf("claim of node %d: %w: numbers from %d are at home on node %d", node, ErrBlocks, b.First, other)
		}
	}
	h := a.holding(node)
	for _, b := range blocks {
		if !slices.Contains(h.blocks, b) {
			a.enter(h, own{node, b})
		}
	}
	a.forget(node)
	return nil
}

// Release takes back blocks that a node does not need. If one of them is not granted to the node,
// it takes none.
func (a *Allocator) Release(node wire.NodeID, blocks []wire.Block) error {
	for _, b := range blocks {
		if h := a.nodes[node]; h == nil || !slices.Contains(h.blocks, b) {
			return fmt.Errorf("release by node %d: %w: those from %d are not its own", node, ErrBlocks, b.First)
		}
	}
	for _, b := range blocks {
		a.remove(a.nodes[node], own{node, b})
	}
	a.forget(node)
	return nil
}

// Return takes back all blocks of a node.
func (a *Allocator) Return(node wire.NodeID) {
	h := a.holding(node)
	for len(h.blocks) > 0 {
		a.remove(h, own{node, h.blocks[len(h.blocks)-1]})
	}
	a.forget(node)
}

// Owner returns the node that owns p. The numbers of the gap behind a block count, too.
func (a *Allocator) Owner(p wire.PID) (node wire.NodeID, ok bool) {
	if p < Node || p >= Max {
		return 0, false
	}
	if l, ok := before(a.grants, p); ok && p < span(l.block).End() {
		return l.node, true
	}
	return 0, false
}

// Borrowed returns how many numbers of the pool a node has.
func (a *Allocator) Borrowed(node wire.NodeID) int {
	if h := a.nodes[node]; h != nil {
		return h.borrowed
	}
	return 0
}

// Usage is how the numbers are used.
type Usage struct {
	Numbers int // numbers of all nodes
	Home    int // numbers of one expected node
	Homes   int // such homes for which there is still room
	Pool    int // numbers that nodes have by demand, or can have
	Free    int // numbers of the pool that are free
}

// Usage returns how the numbers are used.
func (a *Allocator) Usage() Usage {
	free := a.pool.free * unit
	return Usage{Numbers: int(a.layout.numbers), Home: int(a.layout.home), Homes: a.homes.free * unit / int(a.layout.home), Pool: a.borrowed + free, Free: free}
}

// holding returns what a node has. If it has nothing, forget must follow.
func (a *Allocator) holding(node wire.NodeID) *holding {
	h := a.nodes[node]
	if h == nil {
		h = new(holding)
		a.nodes[node] = h
	}
	return h
}

func (a *Allocator) forget(node wire.NodeID) {
	if h := a.nodes[node]; h != nil && h.home.Count == 0 && len(h.blocks) == 0 {
		delete(a.nodes, node)
	}
}

// atHome reports whether numbers of a block are at home.
func (h *holding) atHome(b wire.Block) bool {
	return b.First < h.home.End() && h.home.First < b.End()
}

func (a *Allocator) enter(h *holding, l own) {
	a.grants.ReplaceOrInsert(l)
	h.blocks = append(h.blocks, l.block)
	a.occupy(span(l.block))
	a.borrow(h, l.block, 1)
}

func (a *Allocator) remove(h *holding, l own) {
	a.grants.Delete(l)
	h.blocks = slices.DeleteFunc(h.blocks, func(b wire.Block) bool { return b == l.block })
	a.vacate(span(l.block))
	a.borrow(h, l.block, -1)
}

// borrow counts a block that is added (1) or removed (-1), if it is not at home.
func (a *Allocator) borrow(h *holding, b wire.Block, change int) {
	if h.atHome(b) {
		return
	}
	had := h.borrowed > 0
	numbers := change * int(span(b).Count)
	h.borrowed += numbers
	a.borrowed += numbers
	if has := h.borrowed > 0; has != had {
		a.borrowers += change
	}
}

// conflict returns a grant other than l that shares numbers with l.
func (a *Allocator) conflict(l own) (own, bool) {
	other, ok := overlapping(a.grants, l.block)
	return other, ok && other != l
}

// homeOfAnother returns another node whose home has numbers of a block.
func (a *Allocator) homeOfAnother(node wire.NodeID, b wire.Block) (wire.NodeID, bool) {
	if l, ok := overlapping(a.settled, b); ok && l.node != node {
		return l.node, true
	}
	if l, ok := before(a.settled, b.End()-1); ok && l.node != node && l.block.End() > b.First {
		return l.node, true
	}
	return 0, false
}

// overlapping returns the first range that shares numbers with a block.
func overlapping(ranges *btree.BTreeG[own], b wire.Block) (found own, ok bool) {
	if l, ok := before(ranges, b.First); ok && l.block.End() > b.First {
		return l, true
	}
	ranges.AscendGreaterOrEqual(at(b.First), func(l own) bool {
		found, ok = l, l.block.First < b.End()
		return false
	})
	return found, ok
}

// before returns the last range that begins at or before a number.
func before(ranges *btree.BTreeG[own], p wire.PID) (found own, ok bool) {
	ranges.DescendLessOrEqual(at(p), func(l own) bool {
		found, ok = l, true
		return false
	})
	return found, ok
}

func at(p wire.PID) own { return own{block: wire.Block{First: p}} }

// occupy takes the units of a range out of the free units.
func (a *Allocator) occupy(r wire.Block) {
	first, end := unitsOf(r)
	for u := first; u < end; u++ {
		if a.cover[u]++; a.cover[u] == 1 {
			continue
		}
		a.pool.take(first, u)
		a.homes.take(first, u)
		first = u + 1
	}
	a.pool.take(first, end)
	a.homes.take(first, end)
}

// vacate puts back the units of a range that nothing covers any more.
func (a *Allocator) vacate(r wire.Block) {
	first, end := unitsOf(r)
	for u := first; u < end; u++ {
		if a.cover[u]--; a.cover[u] == 0 {
			continue
		}
		a.give(first, u)
		first = u + 1
	}
	a.give(first, end)
}

func (a *Allocator) give(first, end int) {
	a.pool.give(first, end)
	a.homes.give(first, end)
}

// unitsOf returns the first unit of a range and the one behind the last.
func unitsOf(r wire.Block) (first, end int) {
	return int(r.First-Node) / unit, (int(r.End()-Node) + unit - 1) / unit
}

// numberOf returns the first number of a unit.
func numberOf(u int) wire.PID { return Node + wire.PID(u*unit) }

// order returns the smallest n for which 1<<n units have so many numbers.
func order(numbers int) int {
	n := 0
	for 1<<n*unit < numbers {
		n++
	}
	return n
}

// Blocks returns the blocks of a node, in order of their numbers.
func (a *Allocator) Blocks(node wire.NodeID) []wire.Block {
	h := a.nodes[node]
	if h == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(h.blocks), func(a, b wire.Block) int { return cmp.Compare(a.First, b.First) })
}
