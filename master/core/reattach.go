package core

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// Nodes and clients of a former master come back to the next one: nodes within a moment, clients
// when they have noticed that the former master is gone.
const (
	settleTime = 5 * time.Second  // for nodes, of a command that may as well fail
	returnTime = 30 * time.Second // for nodes, of clients that were there before; for clients, after their nodes
)

// waiter waits for a session with a node.
type waiter struct {
	until time.Time
	whom  interface{ ready(*Core, *session) } // a nil session: there will be none
}

// untilFor returns until when a launch waits for a node that has not come yet.
func (c *Core) untilFor(l *launch) time.Time {
	if l.Again {
		return c.returnUntil
	}
	return c.settleUntil
}

// whenUp gives whom the session of a node when there is one. A node that was lost may come back
// until its lease has run out, one that has not come yet until the time until.
func (c *Core) whenUp(n *node, until time.Time, whom interface{ ready(*Core, *session) }) {
	switch {
	case n.gone:
		whom.ready(c, nil)
	case n.sess != nil:
		whom.ready(c, n.sess)
	case !n.lostAt.IsZero():
		c.waiters[n.ID] = append(c.waiters[n.ID], waiter{n.lostAt.Add(c.config.Lease + LeaseMargin), whom})
	case n.Key != "" && c.clock.Before(until):
		c.waiters[n.ID] = append(c.waiters[n.ID], waiter{until, whom})
	default:
		whom.ready(c, nil)
	}
}

// isUp gives a session to all that have waited for its node.
func (c *Core) isUp(s *session) {
	waiters := c.waiters[s.node]
	delete(c.waiters, s.node)
	for _, w := range waiters {
		w.whom.ready(c, s)
	}
}

// giveUp ends the waits that have lasted long enough.
func (c *Core) giveUp(id wire.NodeID) {
	waiters := c.waiters[id]
	delete(c.waiters, id)
	for _, w := range waiters {
		if c.clock.Before(w.until) {
			c.waiters[id] = append(c.waiters[id], w)
		} else {
			w.whom.ready(c, nil)
		}
	}
}

// attach finds the node of a client that wants to go on with its process.
func (c *Core) attach(in Attach) {
	if n := c.nodes.byID[in.Node]; n != nil && in.From != 0 {
		c.whenUp(n, c.returnUntil, &attaching{in})
	} else if n != nil {
		c.whenUp(n, c.returnUntil, in.Client)
	} else {
		in.Client.ready(c, nil)
	}
}

// ready answers a client that has waited for a node.
func (client Client) ready(c *Core, s *session) {
	if s == nil {
		c.emit(Attached{client, 0})
	} else {
		c.emit(Attached{client, s.id})
	}
}

// attached notes that a client has come back to its process. Only the process's own node can say so: it
// knows whose the launch was.
func (c *Core) attached(in ClientAttached) {
	p := c.procs[in.PID]
	if p == nil || !p.is(in.Launch) {
		if in.Report {
			c.reportAgain(in)
		}
		return
	}
	if s := c.sessions[in.Session]; s == nil || s.node != p.node {
		return
	}
	delete(c.absent, in.PID)
	p.client, p.hangUp, p.report, p.left = in.Client, in.HangUp, in.Report, false
	p.parent = cmp.Or(p.parent, in.Parent)
	if p.state == ending {
		c.report(p)
	}
}

// awaitClient notes that the client of a process that was started from the front end has yet to
// come.
func (c *Core) awaitClient(p *proc) {
	if p.pid < pidmap.Node {
		c.absent[p.pid] = c.clock
	}
}

// hangUpAbsent gives up clients that have ended, and unknown clients that have not come back in
// time. A client that lives may be stopped, or wait until its output is read. The time stops while
// the node has no session.
func (c *Core) hangUpAbsent() {
	for _, pid := range inOrder(c.absent) {
		p := c.procs[pid]
		switch {
		case p == nil || p.state == ending:
			delete(c.absent, pid)
		case p.sess.ended || p.state != running:
			c.absent[pid] = c.clock
		default:
			c.wonder(ParentOf{pid}, &absence{p})
		}
	}
}

// absence is a process whose client is away.
type absence struct{ p *proc }

func (w *absence) told(c *Core, a *Answer) {
	p := w.p
	since, ok := c.absent[p.pid]
	if !ok || c.procs[p.pid] != p || p.state != running || p.sess.ended {
		return
	}
	known := a.Errno == 0 && p.parent != 0
	if known && a.PID == p.parent || !known && c.clock.Sub(since) <= returnTime {
		return
	}
	delete(c.absent, p.pid)
	c.log.Info("the client of a process does not come back", "node", p.node, "pid", p.pid)
	c.hangUp(p)
	if a.Errno == 0 {
		c.reparent(p, a.PID)
	}
}

// of returns the process of a client's connection; nil: it is gone, or the client has come back
// over another connection, or the number is another process's.
func (c *Core) of(pid wire.PID, client Client) *proc {
	if p := c.procs[pid]; p != nil && p.client == client {
		return p
	}
	return nil
}

// clientLeft hangs up a process whose client has left, if the client wanted that. When the client
// has ended, the kernel gives the ghost another parent, init or the nearest subreaper. The process
// on the node is told that.
func (c *Core) clientLeft(pid wire.PID, client Client) {
	p := c.of(pid, client)
	if p == nil || p.state != running {
		return
	}
	p.left = true
	c.hangUp(p)
	if p.parent != 0 {
		c.wonder(ParentAfter{PID: pid, End: p.parent}, &orphaned{p, client})
	}
}

// orphaned is a process whose client ends.
type orphaned struct {
	p      *proc
	client Client
}

func (w *orphaned) told(c *Core, a *Answer) {
	if a.Errno == 0 && c.of(w.p.pid, w.client) == w.p && w.p.state == running {
		c.reparent(w.p, a.PID)
	}
}

func (c *Core) hangUp(p *proc) {
	if p.hangUp {
		c.send(p, &wire.Signal{PID: p.pid, Info: wire.KernelSignal(unix.SIGHUP)})
	}
	c.put(p.sess, &wire.HangUp{PID: p.pid, Session: p.hangUp})
}

func (c *Core) reparent(p *proc, parent wire.PID) {
	c.put(p.sess, &wire.Reparent{PID: p.pid, Parent: parent})
}
