package pidmap

import (
	"fmt"

	"bproc/wire"
)

// spareParts is the part of the pool (1/spareParts) that is the home of an unexpected node.
const spareParts = 16

// NewHome gives a node numbers that are granted to no other node until LeaveHome: about these its
// kernel is right without asking. When there is no room left for the homes of expected nodes, the
// home is a part of the pool. A Count of 0 says that there is none left.
func (a *Allocator) NewHome(node wire.NodeID) wire.Block {
	a.LeaveHome(node)
	size := int(a.layout.home)
	first, ok := a.homes.find(order(size))
	if !ok {
		size = min(size, atLeast(floor(a.pool.free*unit/spareParts)))
		first, ok = a.pool.find(order(size))
		for !ok && size > MinBlock {
			size /= 2
			first, ok = a.pool.find(order(size))
		}
	}
	if !ok {
		return wire.Block{}
	}
	home := wire.Block{First: numberOf(first), Count: int32(size)}
	a.enterHome(node, home)
	return home
}

// Home enters the home that a node was given before this allocator was made, whatever the
// sizes were then.
func (a *Allocator) Home(node wire.NodeID, home wire.Block) error {
	if err := Validate([]wire.Block{home}); err != nil {
		return fmt.Errorf("home of node %d: %w", node, err)
	}
	if other, ok := a.homeOfAnother(node, home); ok {
		return fmt.Errorf("home of node %d: %w: that of node %d has the same numbers", node, ErrBlocks, other)
	}
	a.LeaveHome(node)
	a.enterHome(node, home)
	return nil
}

// LeaveHome takes a node's home back, if it has one.
func (a *Allocator) LeaveHome(node wire.NodeID) {
	if h := a.nodes[node]; h != nil && h.home.Count > 0 {
		home := h.home
		a.settled.Delete(own{node, home})
		a.setHome(h, wire.Block{})
		a.vacate(home)
		a.forget(node)
	}
}

func (a *Allocator) enterHome(node wire.NodeID, home wire.Block) {
	a.settled.ReplaceOrInsert(own{node, home})
	a.setHome(a.holding(node), home)
	a.occupy(home)
}

// setHome gives a node a home. Blocks that it has there are not borrowed.
func (a *Allocator) setHome(h *holding, home wire.Block) {
	for _, b := range h.blocks {
		a.borrow(h, b, -1)
	}
	h.home = home
	for _, b := range h.blocks {
		a.borrow(h, b, 1)
	}
}
