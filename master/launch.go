package master

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// launch is a process that a client wants to have, until it runs or cannot.
type launch struct {
	spawn  wire.Spawn
	node   wire.NodeID
	hangUp bool
	again  bool // a former master may have begun with it
	sent   bool // Spawn has been sent for another connection
	client *clientConn
	steps  chan step // to the client's goroutine; holds every step there is
}

// step tells a client's goroutine how far its process is.
type step struct {
	sess      *session // adopted: open the process stream there, also if there was one with another session
	pgid, sid wire.PID // for Spawn
	taskGroup uint64   // for Spawn, as tasks
	tasks     uint64
	resume    *session     // it was started before: go on with it there
	failed    *wire.Failed // it will not run

	// The client has asked again: its former connection gives its process stream to the
	// next one. A step without all of these says that the process runs.
	give, take chan handover
}

// handover is a process stream that passes from one connection of a client to the next.
type handover struct {
	stream stream // nil: there is none
	on     *session
}

func newLaunch(node wire.NodeID, hangUp bool, spawn wire.Spawn) *launch {
	return &launch{node: node, hangUp: hangUp, spawn: spawn, steps: make(chan step, 4)}
}

// open has the client's goroutine open the process stream. A session that it has not
// heard of yet is none any more.
func (l *launch) open(s step) {
	for len(l.steps) > 0 { // only the core puts something there
		select {
		case <-l.steps:
		default:
		}
	}
	l.steps <- s
}

// replace ends a launch for another one of the same process.
func (l *launch) replace(next *launch) {
	h := make(chan handover, 1)
	l.steps <- step{give: h}
	next.steps <- step{take: h}
}

func (l *launch) fail(stage wire.Stage, errno unix.Errno) {
	l.steps <- step{failed: &wire.Failed{Stage: stage, Errno: uint32(errno)}}
}

// begin checks whether the caller may start a process on the node and has its
// ghost adopted.
func (c *core) begin(l *launch, who caller) {
	n := c.nodes.byID[l.node]
	switch {
	case n == nil:
		l.fail(wire.StageNode, unix.ENXIO)
		return
	case c.mayCome(n, l):
		c.whenUp(n, c.untilFor(l), func(s *session) {
			if s == nil {
				l.fail(wire.StageNode, unix.EHOSTDOWN)
			} else {
				c.begin(l, who)
			}
		})
		return
	case !n.serves():
		l.fail(wire.StageNode, unix.EHOSTDOWN)
		return
	case !who.mayUse(n):
		l.fail(wire.StageNode, unix.EACCES)
		return
	case l.again && c.beganBefore(l, n):
		return
	case c.named(l):
		p := c.procs[l.spawn.PID]
		p.rivals = append(p.rivals, func() { c.begin(l, who) })
		return
	case c.taken(l.spawn.PID):
		l.fail(wire.StageGhost, unix.EEXIST)
		return
	case n.sess.awaitsNumbers():
		c.delayed = append(c.delayed, func() { c.begin(l, who) })
		return
	}
	p := c.launched(l, n)
	c.add(p, c.limitOf(who.pid))
	c.adopt(p)
}

// awaitsNumbers reports whether a node has no numbers yet for what a new process would
// fork.
func (s *session) awaitsNumbers() bool { return s.numbers == 0 && s.lending }

// launched returns the process of a launch.
func (c *core) launched(l *launch, n *node) *proc {
	return &proc{pid: l.spawn.PID, birth: l.spawn.Launch, node: n.ID, uid: l.spawn.UID, starter: l.spawn.UID, sess: n.sess, state: adopting, launch: l, parent: l.spawn.Parent, hangUp: l.hangUp, client: l.client, again: l.again}
}

// mayCome reports whether a node is not there, but may be in a moment: it was lost and
// its lease has not run out, or this master has just begun, or the launch is older than
// that.
func (c *core) mayCome(n *node, l *launch) bool {
	switch {
	case n.sess != nil || n.Down || n.gone:
		return false
	case !n.lostAt.IsZero():
		return true
	}
	return n.Key != "" && c.clock.Before(c.untilFor(l))
}

// untilFor returns until when a launch waits for a node that has not come yet.
func (c *core) untilFor(l *launch) time.Time {
	if l.again {
		return c.returnUntil
	}
	return c.settleUntil
}

// beganBefore goes on with a launch that a former master, or a former connection, has
// begun with. It reports whether there is one.
func (c *core) beganBefore(l *launch, n *node) bool {
	p := c.procs[l.spawn.PID]
	_, found := c.found[l.spawn.PID]
	switch {
	case p != nil && (p.node != n.ID || p.uid != l.spawn.UID || !p.is(l.spawn.Launch)):
		return false
	case found && !same(c.foundHow[l.spawn.PID].Birth, l.spawn.Launch):
		return false
	case p != nil && (p.state == adopting || p.state == spawning):
		delete(c.absent, p.pid)
		l.sent = p.state == spawning
		if former := p.launch; former != nil {
			l.sent = former.sent
			former.replace(l)
		}
		p.launch, p.client, p.hangUp = l, l.client, l.hangUp
	case p != nil:
		l.steps <- step{resume: n.sess}
	case found: // the node has come, and does not have it
		q := c.found[l.spawn.PID]
		delete(c.found, l.spawn.PID)
		p := c.launched(l, n)
		p.signals = *q
		c.add(p, c.limitOf(l.spawn.PID))
		if n.sess.awaitsNumbers() {
			c.delayed = append(c.delayed, func() { c.adopted(p, 0) })
		} else {
			c.adopted(p, 0)
		}
		c.allFound()
	default:
		if _, err := c.front.Parent(l.spawn.PID); err == nil {
			return false // it is not known that it was ever adopted
		}
		l.steps <- step{resume: n.sess} // it has ended, perhaps, and its output is there
	}
	return true
}

// named reports whether somebody else has just named the ghost of a launch as his. That may
// be a lie, which the keeper finds out.
func (c *core) named(l *launch) bool {
	p := c.procs[l.spawn.PID]
	return p != nil && p.state == adopting && p.launch != nil &&
		(p.launch.spawn.Parent != l.spawn.Parent || p.launch.spawn.UID != l.spawn.UID)
}

// taken reports whether a number is in use as far as the master knows.
func (c *core) taken(pid wire.PID) bool {
	_, found := c.found[pid]
	return found || c.procs[pid] != nil
}

// adopt has the keeper hold the ghost of a launch. A keeper that dies meanwhile
// leaves it to the next one; the same one may have it already.
func (c *core) adopt(p *proc) {
	l := p.launch
	c.ask(&wire.GhostAdopt{PID: p.pid, Parent: l.spawn.Parent, UID: l.spawn.UID, HangUp: l.hangUp, Birth: l.spawn.Launch, Owner: ownership(p.node, p.starter)}, func(errno unix.Errno) {
		switch {
		case errno == unix.EPIPE:
			p.again = true
			c.adopt(p)
		case errno == unix.EEXIST && p.again:
			c.adopted(p, 0)
		default:
			c.adopted(p, errno)
		}
	})
}

// adopted goes on when the keeper has answered.
func (c *core) adopted(p *proc, errno unix.Errno) {
	l := p.launch
	defer p.settleRivals()
	switch {
	case errno != 0 && l.again && p.sess != nil:
		c.remove(p) // its process has ended, perhaps, and its output is there
		l.steps <- step{resume: p.sess}
	case errno != 0:
		c.remove(p)
		l.fail(wire.StageGhost, errno)
	default:
		p.ghost = true
		p.state = spawning
		c.settleIn(p, func() { c.spawn(p) })
	}
}

// settleRivals begins with the launches of others that have named the same ghost.
func (p *proc) settleRivals() {
	rivals := p.rivals
	p.rivals = nil
	for _, begin := range rivals {
		begin()
	}
}

// spawn has the node of a process asked to start it. A node that is not there may come
// back; it is asked then (see inventory), or the process is lost with it.
func (c *core) spawn(p *proc) {
	switch n := c.nodes.byID[p.node]; {
	case n.sess == nil && !n.Down && !n.lostAt.IsZero():
	case !n.serves():
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	default:
		// A group or session that the front end's PID namespace does not show has
		// number 0; a ghost that has just ended has none.
		s := step{sess: p.sess}
		if a := p.allotment; a != nil {
			s.taskGroup, s.tasks = a.group.ID, a.told
		}
		s.pgid, _ = c.front.Group(p.pid)
		s.sid, _ = c.front.Session(p.pid)
		p.launch.sent = false
		p.launch.open(s)
	}
}

// spawnAgain is spawn for processes with whose Spawn the node's former session has ended,
// before the node had them.
func (c *core) spawnAgain(s *session, lost []*proc) {
	for _, p := range lost {
		spawn := func() {
			if p.state == spawning && !p.moving && p.sess == s && !s.ended {
				c.spawn(p)
			}
		}
		if s.awaitsNumbers() {
			c.delayed = append(c.delayed, spawn)
		} else {
			spawn()
		}
	}
}

// spawned handles the slave's answer.
func (c *core) spawned(p *proc, stage wire.Stage, errno unix.Errno) {
	if p.state != spawning {
		return
	}
	if errno != 0 {
		c.abandon(p, stage, errno)
		return
	}
	p.state = running
	p.release()
	c.started(p)
	if !c.nodes.byID[p.node].serves() { // set down after the Spawn was sent
		p.kill()
	}
}

// started tells the client of a process that it runs. One that was asked for by a
// former master has no client yet.
func (c *core) started(p *proc) {
	l := p.launch
	p.launch = nil
	switch {
	case l == nil:
		c.claimed(p)
	case l.sent:
		l.steps <- step{resume: p.sess}
	default:
		l.steps <- step{}
	}
}

// abandon ends the ghost of a process that could not be started as a shell
// would end: 127 for a command that is not there, 126 for one that cannot be
// executed, 255 for everything else.
func (c *core) abandon(p *proc, stage wire.Stage, errno unix.Errno) {
	l := p.launch
	p.launch = nil
	code := 255
	if stage == wire.StageExec {
		code = 126
		if errno == unix.ENOENT {
			code = 127
		}
	}
	c.end(p, wire.ExitStatus(code))
	if l != nil {
		l.fail(stage, errno)
	}
}

// end ends the ghost of a process that has ended.
func (c *core) end(p *proc, status wire.Status) {
	p.state, p.status = ending, status
	p.signals.kept, p.signals.sent = nil, 0
	if !p.ghost {
		c.remove(p)
		return
	}
	c.request(p, &wire.GhostExit{PID: p.pid, Status: status}, nil)
}

// refuse ends a launch that no slave can be asked for: its message would be too long, or
// its ghost is not there any more.
func (c *core) refuse(l *launch, stage wire.Stage, errno unix.Errno) {
	p := c.procs[l.spawn.PID]
	if p != nil && p.launch != nil && p.is(l.spawn.Launch) { // it may have been replaced meanwhile
		c.abandon(p, stage, errno)
	}
}
