package core

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// An orphan is a ghost of a former master that no node has claimed yet: its process is on a node
// that has yet to connect.
type orphan struct {
	Held
	signals signals // signals that it has got
}

// orphansFound enters the ghosts that the keeper has held since a former master.
func (c *Core) orphansFound(held []Held, stopped []wire.PID) {
	for _, h := range held {
		c.orphans[h.PID] = &orphan{Held: h}
		n := nodeOf(h.Adopted.Owner)
		c.orphansOf[n] = append(c.orphansOf[n], h.PID)
	}
	c.orphansAt, c.orphansStopped = c.clock, stopped
	if len(held) > 0 {
		c.log.Info("keeper holds ghosts of a former master", "count", len(held))
	}
}

// isOf reports whether an orphan is the ghost of a user's launch on a node.
func (o *orphan) isOf(launch uint64, node wire.NodeID, user uint32) bool {
	return launch != 0 && o.Adopted.Birth == launch && o.Adopted.Owner == ownership(node, user)
}

// killed passes on the SIGKILL of ghosts that are held in their exit: perhaps only a former master
// was told of it.
func (c *Core) killed(pids []wire.PID) {
	for _, pid := range pids {
		c.signal(&wire.GhostSignal{PID: pid, Info: wire.KernelSignal(unix.SIGKILL)})
	}
}

// ownership is the owner of a ghost, as a keeper keeps it for later masters: the node of its
// process, and the user who has started the process or its ancestor. It is not 0.
func ownership(node wire.NodeID, starter uint32) uint64 {
	return uint64(uint32(node)+1)<<32 | uint64(starter)
}

// nodeOf returns the node of an ownership; -1: not known.
func nodeOf(owner uint64) wire.NodeID { return wire.NodeID(uint32(owner>>32) - 1) }

// claim gives an orphan back to its process, if the process is the node's. The orphan may belong to
// another process, which has the number now and is yet to be started.
func (c *Core) claim(s *session, pid wire.PID, birth uint64) bool {
	o := c.orphans[pid]
	if o == nil || !same(o.Adopted.Birth, birth) {
		return false
	}
	starter := uint32(o.Adopted.Owner)
	if o.Adopted.Owner != ownership(s.node, starter) {
		c.log.Warn("a node claims the ghost of a process that is not its own", "node", s.node, "pid", pid)
		return false
	}
	delete(c.orphans, pid)
	p := &proc{
		pid: pid, birth: cmp.Or(birth, o.Adopted.Birth), node: s.node, uid: o.UID, limit: o.Limit, starter: starter, sess: s,
		state: running, ghost: true, signals: o.signals, claimed: true, parent: o.Adopted.Parent, hangUp: o.Adopted.HangUp,
	}
	c.add(p)
	c.findTaskGroups(p, "")
	c.awaitClient(p)
	return true
}

// predecessor returns the process that had the number of a newborn one. That may be an orphan whose
// process has ended without a report, since the node's kernel gives no number twice. Its ghost ends
// then.
func (c *Core) predecessor(s *session, e *wire.Event) *proc {
	o := c.orphans[e.PID]
	if o == nil || same(o.Adopted.Birth, e.Birth) {
		return c.procs[e.PID]
	}
	p := c.endOrphan(o.Held)
	c.orphansClaimed()
	return p
}

// endOrphan ends a ghost that has no process any more. The ghost stays in the table until it is
// gone: its signals are not for another process that has the number by then.
func (c *Core) endOrphan(h Held) *proc {
	delete(c.orphans, h.PID)
	p := &proc{
		pid: h.PID, birth: h.Adopted.Birth, node: nodeOf(h.Adopted.Owner), uid: h.UID, starter: uint32(h.Adopted.Owner),
		sess: &session{ended: true}, state: running, ghost: true,
	}
	c.add(p)
	c.end(p, wire.SignalStatus(int(unix.SIGKILL)))
	return p
}

// loseOrphan ends the ghost of a process that is considered dead with its node.
func (c *Core) loseOrphan(h Held) {
	p := c.endOrphan(h)
	p.lost = true
	c.report(p)
}

// unclaimed ends the ghosts of processes that a node has come without: of those that were born on it, and of
// commands that were to be started in another space, and may have run there. The ghost of a command of this
// space stays: its client may come back to start it.
func (c *Core) unclaimed(n *node) {
	var stay []wire.PID
	for _, pid := range c.orphansOf[n.ID] {
		switch o := c.orphans[pid]; {
		case o == nil || nodeOf(o.Adopted.Owner) != n.ID:
		case pid < pidmap.Node && o.Adopted.Space == n.sess.inventory.Space:
			stay = append(stay, pid)
		default:
			c.loseOrphan(o.Held)
		}
	}
	if delete(c.orphansOf, n.ID); len(stay) > 0 {
		c.orphansOf[n.ID] = stay
	}
}

// nothingLeft ends the ghost of a process that has run, as its client has come back to it and not to
// its launch, and of which its node has nothing any more: its process space was made anew.
func (c *Core) nothingLeft(in ClientRefused) {
	s, o := c.sessions[in.Session], c.orphans[in.PID]
	if s == nil || o == nil || !o.isOf(in.Launch, s.node, in.UID) {
		return
	}
	if n := c.nodes.byID[s.node]; n == nil || n.sess != s {
		return
	}
	c.loseOrphan(o.Held)
	c.orphansClaimed()
}

// orphanGone forgets an orphan that has ended.
func (c *Core) orphanGone(pid wire.PID) {
	if c.orphans[pid] != nil {
		delete(c.orphans, pid)
		c.orphansClaimed()
	}
}

// dropOrphans ends the orphans that no node has claimed, and takes back the numbers of nodes that
// have not connected: by now their slaves have killed the processes.
func (c *Core) dropOrphans() {
	if c.orphansAt.IsZero() || c.clock.Sub(c.orphansAt) <= c.config.Lease+LeaseMargin {
		return
	}
	if !c.settled {
		c.settled = true
		c.disownAbsent()
	}
	if len(c.orphans) == 0 {
		return
	}
	c.log.Warn("no node has the processes of some ghosts; the ghosts end", "count", len(c.orphans))
	for _, pid := range inOrder(c.orphans) {
		c.loseOrphan(c.orphans[pid].Held)
	}
	clear(c.orphansOf)
	c.orphansClaimed()
}

// orphansClaimed goes on with everything that has waited for the last orphan: blocks can be granted
// again, and processes can be started on nodes that had no numbers.
func (c *Core) orphansClaimed() {
	if len(c.orphans) > 0 {
		return
	}
	lending := c.lending
	c.lending = nil
	slices.SortFunc(lending, func(a, b *session) int { return cmp.Compare(a.node, b.node) })
	for _, s := range lending {
		if n := c.nodes.byID[s.node]; n != nil && n.sess == s && s.lending {
			c.lend(s, false)
		}
	}
	delayed := c.delayed
	c.delayed = nil
	for _, t := range delayed {
		t.do(c)
	}
}
