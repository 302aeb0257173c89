package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// budget is how many processes and threads a user may have on all nodes: as many
// as on one machine, which RLIMIT_NPROC bounds (getrlimit(2)). Beyond it the
// ghosts' own fork would fail, when that of their processes has succeeded. The
// nodes on which the user has processes have equal shares of it.
//
// Control groups of the front end are another bound (taskgroups.go).
//
// Root has none.
type budget struct {
	uid    uint32
	limit  uint64 // the largest of the user's clients; unix.RLIM_INFINITY: no bound; 0: not known
	nodes  map[wire.NodeID]*share
	behind bool // not all nodes know their shares
}

// share is what a user has on a node.
type share struct {
	procs int
	idle  int // ticks without a process
}

// idleShare is for how many ticks a node keeps the share of a user who has no
// process there: shares do not change with every command.
const idleShare = 30

// leastShare is what a node can have in any case: a pipeline in a shell works.
const leastShare = 16

// charge enters a process in the budget of its user. A node that is new to the
// user learns its share at once, before the process; the others do soon.
func (c *Core) charge(p *proc) {
	if p.uid == 0 {
		return
	}
	b := c.budgets[p.uid]
	if b == nil {
		b = &budget{uid: p.uid, nodes: map[wire.NodeID]*share{}}
		c.budgets[p.uid] = b
	}
	if p.limit > b.limit {
		b.limit = p.limit
		c.shareSoon(b)
	}
	sh := b.nodes[p.node]
	if sh == nil {
		sh = new(share)
		b.nodes[p.node] = sh
		c.shareSoon(b)
	}
	sh.procs++
	sh.idle = 0
	c.tellShare(b, p.node)
}

// discharge takes a process out of the budget of its user.
func (c *Core) discharge(p *proc) {
	if b := c.budgets[p.uid]; b != nil && b.nodes[p.node] != nil {
		b.nodes[p.node].procs--
	}
}

// changeUser follows a process that has another user now. Its limits are
// the ghost's.
func (c *Core) changeUser(p *proc, uid uint32) {
	const same = ^uint32(0) // see orSame
	if uid == p.uid || uid == same {
		return
	}
	c.discharge(p)
	p.uid = uid
	c.charge(p)
}

// share is the share of a node, as wire.Budget has it.
func (b *budget) share() uint64 {
	if b.limit == unix.RLIM_INFINITY {
		return 0
	}
	return max(b.limit/uint64(max(1, len(b.nodes))), min(b.limit, leastShare))
}

// tellShare tells a node its share, if it does not know.
func (c *Core) tellShare(b *budget, id wire.NodeID) {
	s := c.nodes.byID[id].sess
	if s == nil || b.limit == 0 || s.shares[b.uid] == b.share() {
		return
	}
	s.shares[b.uid] = b.share()
	c.put(s, &wire.Budget{UID: b.uid, Tasks: b.share()})
}

func (c *Core) shareSoon(b *budget) {
	if !b.behind {
		b.behind = true
		c.unshared = append(c.unshared, b)
	}
}

// tellShares tells all nodes of users whose shares have changed.
func (c *Core) tellShares() {
	for _, b := range c.unshared {
		b.behind = false
		for _, id := range inOrder(b.nodes) {
			c.tellShare(b, id)
		}
	}
	c.unshared = c.unshared[:0]
}

// dropShares drops the shares of users who have had no process on a node for a
// while, and forgets users who have none anywhere.
func (c *Core) dropShares() {
	for _, b := range c.budgetsInOrder() {
		for id, sh := range b.nodes {
			if sh.procs > 0 {
				continue
			}
			if sh.idle++; sh.idle > idleShare {
				delete(b.nodes, id)
				c.shareSoon(b)
			}
		}
		if len(b.nodes) == 0 {
			delete(c.budgets, b.uid)
		}
	}
}
