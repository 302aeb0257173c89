package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// budget bounds the processes and threads of a user on all nodes: the user may have as many as
// RLIMIT_NPROC allows on one machine (getrlimit(2)). Beyond that the fork of a ghost would fail
// after the fork of its process has succeeded. The nodes on which the user has processes have equal
// shares.
//
// Control groups of the front end are another bound (taskgroups.go).
//
// Root has no budget.
type budget struct {
	uid    uint32
	limit  uint64 // the largest limit of the user's clients; unix.RLIM_INFINITY: no bound; 0: not known
	nodes  map[wire.NodeID]*share
	behind bool // some nodes do not know their shares
}

// share is the part of a budget that a node has.
type share struct {
	procs int
	idle  int // ticks without a process
}

// idleShare is for how many ticks a node keeps the share of a user who has no process there, so
// that shares do not change with every command.
const idleShare = 30

// leastShare is the smallest share of a node: enough for a pipeline in a shell.
const leastShare = 16

// charge enters a process in the budget of its user. A node that is new to the user learns its
// share at once, before the process; the other nodes learn theirs soon.
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

// changeUser records that a process has another user now. Its limits are the ghost's.
func (c *Core) changeUser(p *proc, uid uint32) {
	const same = ^uint32(0) // see orSame
	if uid == p.uid || uid == same {
		return
	}
	c.discharge(p)
	p.uid = uid
	c.charge(p)
}

// share returns the share of each node, in the form of wire.Budget.
func (b *budget) share() uint64 {
	if b.limit == unix.RLIM_INFINITY {
		return 0
	}
	return max(b.limit/uint64(max(1, len(b.nodes))), min(b.limit, leastShare))
}

// tellShare tells a node its share, if the node does not know it.
func (c *Core) tellShare(b *budget, id wire.NodeID) {
	n := c.nodes.byID[id] // nil: nobody knows whose an orphan is
	if n == nil || n.sess == nil || b.limit == 0 || n.sess.shares[b.uid] == b.share() {
		return
	}
	s := n.sess
	s.shares[b.uid] = b.share()
	c.put(s, &wire.Budget{UID: b.uid, Tasks: b.share()})
}

func (c *Core) shareSoon(b *budget) {
	if !b.behind {
		b.behind = true
		c.unshared = append(c.unshared, b)
	}
}

// tellShares tells nodes the shares that have changed.
func (c *Core) tellShares() {
	for _, b := range c.unshared {
		b.behind = false
		for _, id := range inOrder(b.nodes) {
			c.tellShare(b, id)
		}
	}
	c.unshared = c.unshared[:0]
}

// dropShares drops the shares of users who have had no process on a node for a while, and forgets
// users without any share.
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
