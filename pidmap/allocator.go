package pidmap

import (
	"container/list"
	"errors"
	"fmt"
	"slices"

	"bproc/wire"
)

// Sizes where a [Config] gives none.
const (
	DefaultBlock = 8192
	DefaultGap   = 8192
)

// MinBlock is the smallest block with which a node works: it can give fifteen thousand
// numbers in a second and more, and has a block and its gap for the time that moving
// its cursor takes.
const MinBlock = 1024

// ErrExhausted is the error when fewer blocks are free than are asked for.
var ErrExhausted = errors.New("no block of process numbers is free")

// Config sizes the blocks that an [Allocator] grants. The node zone holds
// 3*2^20/(Block+Gap) of them, 192 by default.
type Config struct {
	BlockSize int // numbers in a block; 0: DefaultBlock
	Gap       int // numbers between blocks; 0: as many as in a block, at most DefaultGap, which nodes rely on
}

// Allocator grants blocks of the node zone to nodes. What was returned longest ago
// is granted first, so that a number comes back as late as possible.
type Allocator struct {
	block  int32
	stride int32 // block and the gap behind it
	slots  []slot
	whole  int        // slots that hold a block and its gap; the rest of the zone is one more
	free   *list.List // of indexes of slots that are nobody's home, returned longest ago first
	homes  map[wire.NodeID]wire.Block
}

// slot is one block's place in the zone.
type slot struct {
	grants []grant       // more than one only if claimed blocks were made with other sizes
	entry  *list.Element // in the list of free slots; nil: not free, or somebody's home
	homes  []wire.NodeID // whose it is; more than one only if homes were made with other sizes
}

// grant is a block and whose it is. It is entered in each slot that it or its gap
// touches.
type grant struct {
	node  wire.NodeID
	block wire.Block
}

// NewAllocator returns an allocator with nothing granted.
func NewAllocator(cfg Config) *Allocator {
	block := int32(min(max(cfg.BlockSize, 0), int(zone)/2))
	if block == 0 {
		block = DefaultBlock
	}
	gap := int32(min(max(cfg.Gap, 0), int(zone)/2))
	if gap == 0 {
		gap = min(block, DefaultGap)
	}
	a := &Allocator{block: block, stride: block + gap, free: list.New(), homes: map[wire.NodeID]wire.Block{}}
	a.whole = int(zone / a.stride)
	a.slots = make([]slot, a.index(Max-1)+1)
	for i := range a.whole {
		a.slots[i].entry = a.free.PushBack(i)
	}
	return a
}

// Free returns how many blocks can be granted to a node.
func (a *Allocator) Free(node wire.NodeID) int { return a.free.Len() + len(a.vacant(node)) }

// Grant gives n blocks to a node, or none. Those at its home come first.
func (a *Allocator) Grant(node wire.NodeID, n int) ([]wire.Block, error) {
	vacant := a.vacant(node)
	if n > a.free.Len()+len(vacant) {
		return nil, fmt.Errorf("grant %d blocks to node %d: %w (%d are)", n, node, ErrExhausted, a.Free(node))
	}
	var blocks []wire.Block
	for len(blocks) < n {
		var i int
		if len(vacant) > 0 {
			i, vacant = vacant[0], vacant[1:]
		} else {
			i = a.free.Front().Value.(int)
		}
		b := wire.Block{First: a.first(i), Count: a.block}
		a.enter(grant{node: node, block: b})
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// Claim enters blocks that a node had before this allocator was made,
// whatever the sizes were then. If one of them cannot be the node's, none is
// entered.
func (a *Allocator) Claim(node wire.NodeID, blocks []wire.Block) error {
	if err := Validate(blocks); err != nil {
		return fmt.Errorf("claim of node %d: %w", node, err)
	}
	for _, b := range blocks {
		if l, ok := a.conflict(grant{node: node, block: b}); ok {
			return fmt.Errorf("claim of node %d: %w: numbers from %d are granted to node %d", node, ErrBlocks, l.block.First, l.node)
		}
		if other, ok := a.homeOfAnother(node, b); ok {
			return fmt.Errorf("claim of node %d: %w: numbers from %d are at home on node %d", node, ErrBlocks, b.First, other)
		}
	}
	for _, b := range blocks {
		a.enter(grant{node: node, block: b})
	}
	return nil
}

// Release takes back blocks that a node has no use for. If one of them is not
// granted to the node, none is taken.
func (a *Allocator) Release(node wire.NodeID, blocks []wire.Block) error {
	for _, b := range blocks {
		if !a.has(grant{node: node, block: b}) {
			return fmt.Errorf("release by node %d: %w: those from %d are not its own", node, ErrBlocks, b.First)
		}
	}
	for _, b := range blocks {
		gone := grant{node: node, block: b}
		first, last := a.touched(b)
		for i := first; i <= last; i++ {
			a.remove(i, func(l grant) bool { return l == gone })
		}
	}
	return nil
}

// Return takes back all blocks of a node.
func (a *Allocator) Return(node wire.NodeID) {
	for i := range a.slots {
		a.remove(i, func(l grant) bool { return l.node == node })
	}
}

// Owner returns the node whose numbers p is one of. The numbers of the gap behind
// a block count too.
func (a *Allocator) Owner(p wire.PID) (wire.NodeID, bool) {
	if p < Node || p >= Max {
		return 0, false
	}
	var owner *grant
	for _, l := range a.slots[a.index(p)].grants {
		if l.block.First <= p && (owner == nil || l.block.First > owner.block.First) {
			owner = &l
		}
	}
	if owner == nil || p >= owner.block.End()+a.gap() {
		return 0, false
	}
	return owner.node, true
}

func (a *Allocator) gap() wire.PID { return wire.PID(a.stride - a.block) }

// first returns the first number of a slot.
func (a *Allocator) first(i int) wire.PID { return Node + wire.PID(int32(i)*a.stride) }

func (a *Allocator) index(p wire.PID) int { return int(int32(p-Node) / a.stride) }

// touched returns the first and the last slot that a block and its gap reach into.
func (a *Allocator) touched(b wire.Block) (first, last int) {
	return a.index(b.First), a.index(min(b.End()+a.gap(), Max) - 1)
}

// conflict returns a grant that shares numbers with l and is not l itself.
func (a *Allocator) conflict(l grant) (grant, bool) {
	first, last := a.touched(l.block)
	for i := first; i <= last; i++ {
		for _, other := range a.slots[i].grants {
			if other != l && other.block.First < l.block.End() && l.block.First < other.block.End() {
				return other, true
			}
		}
	}
	return grant{}, false
}

func (a *Allocator) has(l grant) bool {
	if Validate([]wire.Block{l.block}) != nil {
		return false
	}
	return slices.Contains(a.slots[a.index(l.block.First)].grants, l)
}

func (a *Allocator) enter(l grant) {
	first, last := a.touched(l.block)
	for i := first; i <= last; i++ {
		a.occupy(i)
		if s := &a.slots[i]; !slices.Contains(s.grants, l) {
			s.grants = append(s.grants, l)
		}
	}
}

func (a *Allocator) remove(i int, gone func(grant) bool) {
	a.slots[i].grants = slices.DeleteFunc(a.slots[i].grants, gone)
	a.vacate(i)
}

// occupy takes a slot that somebody is given out of those that are free.
func (a *Allocator) occupy(i int) {
	if s := &a.slots[i]; s.entry != nil {
		a.free.Remove(s.entry)
		s.entry = nil
	}
}

// vacate puts a slot to those that are free, if it is nobody's any more.
func (a *Allocator) vacate(i int) {
	if s := &a.slots[i]; s.entry == nil && len(s.grants) == 0 && len(s.homes) == 0 && i < a.whole {
		s.entry = a.free.PushBack(i)
	}
}
