package master

import (
	"time"

	"bproc/pidmap"
	"bproc/wire"
)

// What a master finds when it begins comes back to it: nodes within a moment, clients
// when they have noticed.
const (
	settleTime = 5 * time.Second  // nodes, for a command that may as well fail
	returnTime = 30 * time.Second // nodes, for clients that were there before; clients, after their nodes
)

// begun says since when this master serves.
func (c *core) begun(now time.Time) {
	c.clock, c.settleUntil, c.returnUntil = now, now.Add(settleTime), now.Add(returnTime)
}

// waiter waits for a session with a node.
type waiter struct {
	until time.Time
	ready func(*session) // nil: there will be none
}

// whenUp calls ready with the session of a node, when there is one: a node that was
// lost may come back until its lease has run out, one that has not come yet until
// then.
func (c *core) whenUp(n *node, until time.Time, ready func(*session)) {
	switch {
	case n.gone:
		ready(nil)
	case n.sess != nil:
		ready(n.sess)
	case !n.lostAt.IsZero():
		c.waiters[n.ID] = append(c.waiters[n.ID], waiter{n.lostAt.Add(c.lease + leaseMargin), ready})
	case n.Key != "" && c.clock.Before(until):
		c.waiters[n.ID] = append(c.waiters[n.ID], waiter{until, ready})
	default:
		ready(nil)
	}
}

// isUp goes on with those who have waited for a node.
func (c *core) isUp(s *session) {
	waiters := c.waiters[s.node]
	delete(c.waiters, s.node)
	for _, w := range waiters {
		w.ready(s)
	}
}

// giveUp tells those who have waited long enough.
func (c *core) giveUp(id wire.NodeID, now time.Time) {
	waiters := c.waiters[id]
	delete(c.waiters, id)
	for _, w := range waiters {
		if now.Before(w.until) {
			c.waiters[id] = append(c.waiters[id], w)
		} else {
			w.ready(nil)
		}
	}
}

// attached notes that a client has come back to its process.
func (c *core) attached(pid wire.PID, launch uint64, client *clientConn, hangUp bool) {
	if p := c.procs[pid]; p != nil && p.is(launch) {
		delete(c.absent, pid)
		p.client, p.hangUp, p.left = client, hangUp, false
	}
}

// away notes that a client has lost its process with the session of its node.
func (c *core) away(pid wire.PID, client *clientConn) {
	if p := c.of(pid, client); p != nil {
		p.client = nil
		c.absent[pid] = c.clock
	}
}

// claimed notes that the client of a process that was started from the front end has
// yet to come.
func (c *core) claimed(p *proc) {
	if p.pid < pidmap.Node {
		c.absent[p.pid] = c.clock
	}
}

// hangUpAbsent gives up the clients that have ended, and those of which nothing is known
// and that have not come back. One that lives may be stopped, or wait until somebody
// reads what it writes. Without a session nobody can come back, and nobody is late.
func (c *core) hangUpAbsent(now time.Time) {
	for pid, since := range c.absent {
		p := c.procs[pid]
		if p == nil || p.state == ending {
			delete(c.absent, pid)
			continue
		}
		if p.sess.ended || p.state != running {
			c.absent[pid] = now
			continue
		}
		parent, err := c.front.Parent(pid)
		known := err == nil && p.parent != 0
		if known && parent == p.parent || !known && now.Sub(since) <= returnTime {
			continue
		}
		delete(c.absent, pid)
		c.log.Info("the client of a process does not come back", "node", p.node, "pid", pid)
		c.hangUp(p)
		if err == nil {
			c.reparent(pid, parent)
		}
	}
}
