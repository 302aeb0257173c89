package sim

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// A process of a node may start others: a nested launch. Its client is the process itself, over a
// stream of its node's session, which is lost with that. A client that knows the number of its
// process comes back over the next session; one that does not has failed.

// nesting is a nested launch that the master is asked for when it has handled the node's events up
// to one.
type nesting struct {
	client *client
	event  uint64
}

// nests makes a process of some node start another, on any node.
func (s *Sim) nests() {
	for _, n := range s.nodes {
		if n.any() != nil && s.chance(2) {
			n.nests()
		}
	}
}

func (n *node) nests() {
	p, l := n.any(), n.link
	if p == nil || l == nil || l.isCut || l.closed || n.sim.quiet || len(n.sim.everyone) >= 200 || n.sim.kernel.free() <= 4 {
		return
	}
	n.slave.tell(len(n.records))
	c := &client{sim: n.sim, by: p, pid: p.pid, node: pick(n.sim.rng, n.sim.nodes).id, hangUp: n.sim.chance(2), leads: n.sim.chance(4)}
	l.nestings = append(l.nestings, nesting{c, uint64(len(l.events))})
}

// nest asks the master for a nested launch, if it is the turn of that.
func (l *link) nest() {
	if len(l.nestings) == 0 || l.placed < l.nestings[0].event || !l.known {
		return
	}
	c, s := l.nestings[0].client, l.node.sim
	l.nestings = l.nestings[1:]
	caller := s.kernel.procs[c.pid]
	if c.by.ended || caller == nil || caller.ghost == nil || caller.ghost.adopted.Birth != c.by.birth {
		return
	}
	s.births++
	c.launch, c.uid = s.births, caller.uid
	s.everyone = append(s.everyone, c)
	c.barUser()
	c.connectOver(l)
	s.note("node %d: %d starts another on node %d", l.node.id, c.pid, c.node)
	s.step(c.run(false))
}

// connectOver gives a nested client a connection over its node's session.
func (c *client) connectOver(l *link) {
	c.connect()
	c.sim.over[c.conn] = l.id
}

// nestAgain connects a nested client again, if its node's session has caught up.
func (c *client) nestAgain() {
	l, caller := c.by.node.link, c.sim.kernel.procs[c.pid]
	if l == nil || !l.known || l.isCut || l.closed || l.placed < uint64(len(l.events)) || caller == nil {
		return
	}
	c.connectOver(l)
	c.sim.step(core.Attach{Client: c.conn, Node: c.node, From: l.id, Who: c.who(caller.uid), PID: c.ghost, Launch: c.launch})
}

func (c *client) who(uid uint32) core.Caller { return core.Caller{PID: c.pid, UID: uid, GID: uid} }

// inherits gives the process of a nested launch the place of its ghost, which is as its maker's was
// at the launch. It reports whether that is still so.
func (c *client) inherits(o core.Spawn, r *request) bool {
	l := c.sim.kernel.procs[o.PID]
	if l == nil || l.ghost == nil || l.uid != c.uid {
		return false
	}
	c.ghost, r.pgid, r.sid = o.PID, l.group, l.session
	return true
}

// loseNested ends the connections over a session. The master is told which clients are away.
func (s *Sim) loseNested(l *link) {
	for _, conn := range slices.Sorted(maps.Keys(s.over)) {
		if s.over[conn] != l.id {
			continue
		}
		c := s.clients[conn]
		switch {
		case c == nil || c.conn != conn && c.runs:
			s.forgetConn(conn)
		case c.runs:
			s.forgetConn(conn)
			c.lost()
			s.step(core.ClientAway{Client: conn, PID: c.ghost})
		default:
			delete(s.over, conn)
			c.lost()
			c.failed, c.left, c.deaf = true, true, true
		}
	}
}

// giveUpDeaf gives up connections to which nobody listens any more.
func (s *Sim) giveUpDeaf() {
	for _, conn := range slices.Sorted(maps.Keys(s.clients)) {
		c := s.clients[conn]
		if c == nil || !c.deaf || !s.quiet && !s.chance(8) {
			continue
		}
		s.forgetConn(conn)
		switch {
		case c.over || c.wanted == 0:
		case c.opened != c.wanted:
			s.step(core.Refuse{Client: conn, PID: c.ghost, Launch: c.launch, Stage: wire.StageRequest, Errno: unix.ECANCELED})
		default:
			s.step(core.ClientLeft{Client: conn, PID: c.ghost})
		}
	}
}

func (s *Sim) forgetConn(conn core.Client) {
	delete(s.over, conn)
	delete(s.clients, conn)
	delete(s.opened, conn)
}

// leaveNested has the nested clients of a process that has ended leave.
func (n *node) leaveNested(p *proc) {
	for _, c := range n.sim.everyone {
		if c.by == p && !c.left {
			c.leave()
		}
	}
}

// isNested reports whether a ghost may be that of a nested launch: its number is the front end's,
// and may have been given to another process meanwhile.
func isNested(m *wire.GhostFork) bool { return m.Child < pidmap.Node }

// freeNumber answers a question for a free number, which the next client may get.
func (k *kernel) freeNumber(a *core.Answer) {
	if k.free() <= 1 || k.sim.chance(8) {
		a.Errno = unix.EAGAIN
		return
	}
	before := k.next
	a.PID = k.fork(1).pid
	delete(k.procs, a.PID)
	k.next = before
}
