package master

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// foundGhosts takes note of the ghosts that a keeper has held since a former
// master. Their processes are on nodes that have yet to connect.
func (c *core) foundGhosts(held, stopped []wire.PID, adopted []wire.Adopted, now time.Time) {
	for _, pid := range held {
		c.found[pid] = new(signals)
	}
	for _, how := range adopted {
		c.foundHow[how.PID] = how
	}
	c.foundAt, c.foundStopped = now, stopped
	if len(held) > 0 {
		c.log.Info("keeper holds ghosts of a former master", "count", len(held))
	}
}

// killed passes on the SIGKILL of ghosts that are held in their exit: whoever
// was told of it may have been a former master.
func (c *core) killed(pids []wire.PID) {
	for _, pid := range pids {
		c.signal(&wire.GhostSignal{PID: pid, Info: kernelSignal(unix.SIGKILL)})
	}
}

// ownership is whose a ghost is, as a keeper keeps it for later masters: the node of its
// process, and the user who has started it, or the process from which it descends. It is
// not 0.
func ownership(node wire.NodeID, starter uint32) uint64 {
	return uint64(uint32(node)+1)<<32 | uint64(starter)
}

// nodeOf returns the node of an ownership; -1: it is not known.
func nodeOf(owner uint64) wire.NodeID { return wire.NodeID(uint32(owner>>32) - 1) }

// claim gives a found ghost back to its process, if that is the node's. It can be that of
// another, which has its number now and is yet to be started.
func (c *core) claim(s *session, pid wire.PID, birth uint64) bool {
	q, ok := c.found[pid]
	if !ok || !same(c.foundHow[pid].Birth, birth) {
		return false
	}
	starter := uint32(c.foundHow[pid].Owner)
	if c.foundHow[pid].Owner != ownership(s.node, starter) {
		c.log.Warn("a node claims the ghost of a process that is not its own", "node", s.node, "pid", pid)
		return false
	}
	delete(c.found, pid)
	uid, err := c.front.Owner(pid)
	if err != nil {
		uid = 0 // it has just ended
	}
	p := &proc{pid: pid, birth: cmp.Or(birth, c.foundHow[pid].Birth), node: s.node, uid: uid, starter: starter, sess: s, state: running, ghost: true, signals: *q, claimed: true}
	p.parent, p.hangUp = c.foundHow[pid].Parent, c.foundHow[pid].HangUp
	c.add(p, c.limitOf(pid))
	c.allot(p)
	c.claimed(p)
	return true
}

// unfind forgets a found ghost that has ended.
func (c *core) unfind(pid wire.PID) {
	if _, ok := c.found[pid]; ok {
		delete(c.found, pid)
		c.allFound()
	}
}

// dropFound ends the found ghosts that no node has claimed, and takes back the numbers of
// nodes that have not come: by now their slaves have killed the processes.
func (c *core) dropFound(now time.Time) {
	if c.foundAt.IsZero() || now.Sub(c.foundAt) <= c.lease+leaseMargin {
		return
	}
	if !c.settled {
		c.settled = true
		c.disownAbsent()
	}
	if len(c.found) == 0 {
		return
	}
	c.log.Warn("no node has the processes of some ghosts; the ghosts end", "count", len(c.found))
	for pid := range c.found {
		c.tell(&wire.GhostExit{PID: pid, Status: wire.SignalStatus(int(unix.SIGKILL))})
	}
	clear(c.found)
	c.allFound()
}

// allFound goes on with what has waited for the last found ghost: numbers can be
// lent again, and processes started on nodes that had none.
func (c *core) allFound() {
	if len(c.found) > 0 {
		return
	}
	for _, n := range c.nodes.sorted() {
		if s := n.sess; s != nil && s.lending {
			c.lend(s, s.wanted)
		}
	}
	clear(c.foundHow)
	delayed := c.delayed
	c.delayed = nil
	for _, begin := range delayed {
		begin()
	}
}
