package pidmap

// A node gets as much of the pool as it has, so that its numbers double each time, as long as half
// of the pool is left. Then the pool is low: a node gets more only if it has less than an equal
// share for all nodes that have some, and one more. The last eighth is for nodes that have none of
// it. So a few nodes that want more and more do not keep others from growing, and none takes
// numbers that are at home on another.

const (
	// firstGrant is the least that a node gets while the pool is not low: a node with a small home
	// that begins to work needs more at once.
	firstGrant = 4096
	maxGrant   = 1 << 17
	// No node takes more than these parts of the rest at once.
	manyParts = 4
	lowParts  = 16
)

// share returns the most numbers, with their gap, that a node may get of the pool: a power of two;
// 0: none.
func (a *Allocator) share(h *holding) int {
	free := a.pool.free * unit
	all := a.borrowed + free
	has := int(h.home.Count) + h.borrowed
	want := min(max(ceil(has), firstGrant), maxGrant)
	if many := atLeast(min(want, floor(free/manyParts))); 2*(free-many) >= all {
		return many
	}
	low := atLeast(min(want, floor(free/lowParts)))
	if h.borrowed == 0 {
		return low
	}
	if fair := all / (a.borrowers + 1); h.borrowed+low <= fair && 8*(free-low) >= all {
		return low
	}
	return 0
}

func atLeast(size int) int { return max(size, MinBlock) }
