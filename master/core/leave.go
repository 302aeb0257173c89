package core

import "time"

// A node is gone when its lease has run out, or when it has said that it leaves. From then on
// nothing waits for it until it connects anew.

// dead ends the ghosts of a node's processes: its slave has killed the processes by now.
func (c *Core) dead(n *node) {
	n.lostAt = time.Time{}
	c.gone(n)
	c.unsettle(n)
	for _, p := range c.onNodeInOrder(n.ID) {
		c.lose(p)
	}
	c.disown(n.ID)
	delete(c.answers, n.ID) // no slave is left that could ask again
}

// gone fails everything that waits for a node.
func (c *Core) gone(n *node) {
	n.gone = true
	waiters := c.waiters[n.ID]
	delete(c.waiters, n.ID)
	for _, w := range waiters {
		w.whom.ready(c, nil)
	}
}

// leaves is called when the daemon of a node ends its processes, and then itself. The daemon says
// so first, so that a program that sees such an end can ask for the reason. A daemon that does not
// finish may have left processes: then the lease decides.
func (c *Core) leaves(s *session, empty bool) {
	n := c.nodes.byID[s.node]
	if !n.gone {
		c.gone(n)
		c.become(n, n.state.after(nodeLeaves), "")
	}
	if empty {
		c.endNow(s, ErrLeft)
		c.dead(n)
	}
}
