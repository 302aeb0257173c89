package sim

import (
	"slices"

	"bproc/wire"
)

// fewNumbers is how many numbers of a block the kernel gives, so that they are reused soon.
const fewNumbers = 16

// freeNumbers returns the numbers that the kernel can give.
func (n *node) freeNumbers() (free []wire.PID) {
	for _, b := range n.blocks {
		for pid := b.First; pid < b.First+fewNumbers; pid++ {
			if n.procs[pid] == nil && !n.isUsed(pid) {
				free = append(free, pid)
			}
		}
	}
	slices.Sort(free)
	return free
}

// isUsed reports whether a number is that of a group or session.
func (n *node) isUsed(pid wire.PID) bool {
	for _, p := range n.procs {
		if p.group == pid || p.session == pid {
			return true
		}
	}
	return false
}

// asksForNumbers asks for a block if few numbers are free.
func (n *node) asksForNumbers() {
	if n.link != nil && len(n.freeNumbers()) < 8 && !n.slave.asked {
		n.slave.asked = true
		n.slave.say(&wire.BlocksWanted{Blocks: 1})
	}
}

// givesBack returns a block in which no number is in use, except the one at home.
func (n *node) givesBack() {
	if n.link == nil {
		return
	}
	for i, b := range n.blocks {
		if n.isAtHome(b) || slices.ContainsFunc(n.inOrder(), func(p *proc) bool { return b.Contains(p.pid) || b.Contains(p.group) || b.Contains(p.session) }) {
			continue
		}
		n.sim.note("node %d gives %v back", n.id, b)
		n.slave.tell(len(n.records)) // the ends of all processes that had its numbers
		n.slave.has(slices.Delete(slices.Clone(n.blocks), i, i+1))
		n.slave.say(&wire.BlocksReturned{Blocks: []wire.Block{b}})
		return
	}
}

func (n *node) isAtHome(b wire.Block) bool {
	return n.home.First <= b.First && b.End() <= n.home.End()
}

func (n *node) chanceOfStorm() bool { return n.sim.chance(8) }

// storms forks as long as there is a number.
func (n *node) storms() {
	n.sim.note("storm on node %d", n.id)
	for range 40 {
		n.forks()
		n.asksForNumbers()
	}
}
