package master

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// launch is a process that a client wants to have, until it runs or cannot.
type launch struct {
	spawn  wire.Spawn
	node   wire.NodeID
	hangUp bool
	steps  chan step // to the client's goroutine; holds every step there is
}

// step tells a client's goroutine how far its process is.
type step struct {
	sess   *session     // adopted: open the process stream there
	failed *wire.Failed // it will not run; otherwise, and with no session, it runs
}

func newLaunch(node wire.NodeID, hangUp bool, spawn wire.Spawn) *launch {
	return &launch{node: node, hangUp: hangUp, spawn: spawn, steps: make(chan step, 2)}
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
	case !n.serves():
		l.fail(wire.StageNode, unix.EHOSTDOWN)
		return
	case !who.mayUse(n):
		l.fail(wire.StageNode, unix.EACCES)
		return
	case c.taken(l.spawn.PID):
		l.fail(wire.StageGhost, unix.EEXIST)
		return
	case n.sess.numbers == 0 && n.sess.lending:
		c.delayed = append(c.delayed, func() { c.begin(l, who) })
		return
	}
	p := &proc{pid: l.spawn.PID, node: n.ID, uid: l.spawn.UID, sess: n.sess, state: adopting, launch: l, hangUp: l.hangUp}
	c.add(p, c.limitOf(who.pid))
	c.adopt(p)
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
	c.ask(&wire.GhostAdopt{PID: p.pid, Parent: l.spawn.Parent, UID: l.spawn.UID}, func(errno unix.Errno) {
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
	switch {
	case errno != 0:
		c.remove(p)
		l.fail(wire.StageGhost, errno)
	case !c.nodes.byID[p.node].serves():
		p.ghost = true
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	default:
		p.ghost = true
		p.state = spawning
		// A group or session that the front end's PID namespace does not show has
		// number 0; a ghost that has just ended has none.
		l.spawn.PGID, _ = c.front.Group(p.pid)
		l.spawn.SID, _ = c.front.Session(p.pid)
		l.steps <- step{sess: p.sess}
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
	p.launch.steps <- step{}
	p.launch = nil
	if !c.nodes.byID[p.node].serves() { // set down after the Spawn was sent
		p.kill()
	}
}

// abandon ends the ghost of a process that could not be started as a shell
// would end: 127 for a command that is not there, 126 for one that cannot be
// executed, 255 for everything else.
func (c *core) abandon(p *proc, stage wire.Stage, errno unix.Errno) {
	l := p.launch
	p.launch = nil
	if l == nil {
		return
	}
	code := 255
	if stage == wire.StageExec {
		code = 126
		if errno == unix.ENOENT {
			code = 127
		}
	}
	c.end(p, wire.ExitStatus(code))
	l.fail(stage, errno)
}

// end ends the ghost of a process that has ended.
func (c *core) end(p *proc, status wire.Status) {
	p.state, p.status = ending, status
	p.held = nil
	if !p.ghost {
		c.remove(p)
		return
	}
	c.request(p, &wire.GhostExit{PID: p.pid, Status: status}, nil)
}

// broken ends a launch whose process stream could not be opened: its slave has
// not been asked for it.
func (c *core) broken(l *launch) {
	if p := c.procs[l.spawn.PID]; p != nil && p.launch == l {
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	}
}
