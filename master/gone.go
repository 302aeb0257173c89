package master

import "time"

// A node is gone when its lease has run out, or when it has said that it leaves. From
// then on until it connects anew nobody waits for it.

// dead ends the ghosts of a node's processes: its slave has killed them by now.
func (c *core) dead(n *node) {
	n.lostAt = time.Time{}
	c.gone(n)
	for _, p := range c.procs {
		if p.node == n.ID {
			c.lose(p)
		}
	}
	c.disown(n.ID)
}

// gone fails those who wait for a node.
func (c *core) gone(n *node) {
	n.gone = true
	waiters := c.waiters[n.ID]
	delete(c.waiters, n.ID)
	for _, w := range waiters {
		w.ready(nil)
	}
}

// leaves takes in that the daemon of a node ends its processes, and itself then. It says
// so first, so that whoever sees such an end can ask why. A daemon that does not come to
// the end of that may have left processes: then the lease decides.
func (c *core) leaves(s *session, empty bool) {
	n := c.nodes.byID[s.node]
	if !n.gone {
		c.gone(n)
		n.enter(c.clock)
	}
	if empty {
		s.link.Close(errLeft)
		c.sessionEnded(s, errLeft, c.clock)
		c.dead(n)
	}
}
