package pidmap

import (
	"fmt"
	"slices"

	"bproc/wire"
)

// homeSlots is how many blocks, with their gaps, a node has at home: as many as it has
// at least.
const homeSlots = 2

// NewHome gives a node numbers that are granted to no other node until LeaveHome: about
// these its kernel is right without asking. A Count of 0 says that there are none left: the lower half of the zone is for
// grants that come and go. The last slot is nobody's home either, since what the kernel
// gives behind it are numbers of the local zone.
func (a *Allocator) NewHome(node wire.NodeID) wire.Block {
	a.LeaveHome(node)
	for i := a.whole - 1 - homeSlots; i >= a.whole/2; i-- {
		if slices.ContainsFunc(a.slots[i:i+homeSlots], func(s slot) bool { return s.entry == nil }) {
			continue
		}
		home := wire.Block{First: a.first(i), Count: homeSlots * a.stride}
		a.enterHome(node, home)
		return home
	}
	return wire.Block{}
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
	home, ok := a.homes[node]
	if !ok {
		return
	}
	delete(a.homes, node)
	for i := a.index(home.First); i <= a.index(home.End()-1); i++ {
		s := &a.slots[i]
		s.homes = slices.DeleteFunc(s.homes, func(n wire.NodeID) bool { return n == node })
		a.vacate(i)
	}
}

func (a *Allocator) enterHome(node wire.NodeID, home wire.Block) {
	a.homes[node] = home
	for i := a.index(home.First); i <= a.index(home.End()-1); i++ {
		a.occupy(i)
		a.slots[i].homes = append(a.slots[i].homes, node)
	}
}

// vacant returns the slots of a node's home, and of nobody else's, that are granted to nobody.
func (a *Allocator) vacant(node wire.NodeID) []int {
	home, ok := a.homes[node]
	if !ok {
		return nil
	}
	var slots []int
	for i := a.index(home.First); i <= a.index(home.End()-1) && i < a.whole; i++ {
		if s := &a.slots[i]; len(s.grants) == 0 && len(s.homes) == 1 {
			slots = append(slots, i)
		}
	}
	return slots
}

// homeOfAnother returns a node, other than this, at whose home numbers of a block are.
func (a *Allocator) homeOfAnother(node wire.NodeID, b wire.Block) (wire.NodeID, bool) {
	for other, home := range a.homes {
		if other != node && home.First < b.End() && b.First < home.End() {
			return other, true
		}
	}
	return 0, false
}
