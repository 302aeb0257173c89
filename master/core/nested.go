package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A process of a node may start others, on any node: a nested launch. The caller's ghost makes the
// ghost of the new process, as at a birth, so parent, group, session and credentials are right. The
// number is one that is free in the front end's kernel. From then on it is a launch like any other.
//
//	FreeNumber, GhostFork by the caller's ghost, GhostJoin if it leads, GhostExec > Spawn ...
//
// A node speaks only for its own processes. Processes of a node with limited trust may start others
// on that node only: its root can act as any of them.

// numberTries bounds the numbers that are tried for a nested launch.
const numberTries = 4

// callerOf returns the process that asks for a nested launch; nil: its node has no such process. It
// may ask before the answer to its Spawn has come.
func (c *Core) callerOf(from Session, who Caller) *proc {
	p := c.procs[who.PID]
	if p == nil || p.sess.id != from || p.sess.ended || !p.ghost {
		return nil
	}
	if p.state != running && (p.state != spawning || p.settling) {
		return nil
	}
	return p
}

// mayNest reports whether a process of a node may start another. If not, the launch fails.
func (c *Core) mayNest(l *launch) bool {
	p := c.callerOf(l.From, l.Who)
	fail := Fail{Client: l.Client, Stage: wire.StageRequest, Errno: unix.EPERM}
	switch {
	case p == nil:
		fail.Errno, fail.Text = unix.ESRCH, "on a node, only processes that bproc has started can start others"
	case p.uid != l.Who.UID:
		fail.Text = "the user of this process has just changed"
	case c.isLimited(p.node) && l.Node != p.node:
		fail.Text = "nodes with limited trust start nothing on others"
	default:
		return true
	}
	c.emit(fail)
	return false
}

// nest begins a nested launch.
func (c *Core) nest(l *launch, n *node) {
	if n.sess.awaitsNumbers() {
		c.delayed = append(c.delayed, l)
		return
	}
	c.wonder(FreeNumber{}, &numbering{l, numberTries})
}

// numbering is a nested launch that has yet to get a number.
type numbering struct {
	*launch
	tries int
}

func (t *numbering) told(c *Core, a *Answer) {
	l := t.launch
	maker, n := c.callerOf(l.From, l.Who), c.nodes.byID[l.Node]
	switch t.tries--; {
	case maker == nil:
		c.fail(l, wire.StageRequest, unix.ESRCH)
	case n == nil || !n.serves():
		c.fail(l, wire.StageNode, unix.EHOSTDOWN)
	case a.Errno == 0 && !c.taken(a.PID):
		l.PID = a.PID
		c.beget(t, n, maker)
	case t.tries > 0:
		c.wonder(FreeNumber{}, t)
	default:
		c.fail(l, wire.StageGhost, unix.EAGAIN)
	}
}

// beget has the ghost of the caller make the ghost of a nested launch.
func (c *Core) beget(t *numbering, n *node, maker *proc) {
	p := c.launched(t.launch, n)
	p.limit, p.unasked = maker.limit, true
	c.add(p)
	birth := &wire.GhostFork{Parent: maker.pid, Child: p.pid, Birth: p.birth, Owner: ownership(p.node, p.starter), HangUp: p.hangUp, Space: t.space}
	c.bear(p, maker, birth, &begotten{t, p, maker, birth})
}

// begotten handles the keeper's answer about the ghost of a nested launch.
type begotten struct {
	*numbering
	p, maker *proc
	birth    *wire.GhostFork
}

func (r *begotten) answered(c *Core, errno unix.Errno) {
	switch {
	case errno == unix.EPIPE:
		c.again = append(c.again, &rebirth{p: r.p, maker: r.maker, birth: r.birth, then: r})
	case errno == unix.EEXIST && r.tries > 0: // the number was free
		c.remove(r.p)
		c.wonder(FreeNumber{}, r.numbering)
		c.contend(r.p)
	case errno != 0:
		c.adopted(r.p, errno)
	default:
		c.begat(r.p)
	}
}

// begat goes on when the ghost exists: the ghost gets the command line of its process, and a
// session if the process is to lead one.
func (c *Core) begat(p *proc) {
	l := p.launch
	p.ghost, p.state, p.settling = true, spawning, true
	c.serve(p)
	c.contend(p)
	var requests []wire.Message
	if l.Leads {
		requests = append(requests, &wire.GhostJoin{PID: p.pid, PGID: p.pid, SID: p.pid})
	}
	requests = append(requests, &wire.GhostExec{PID: p.pid, Argv: CutArgv(l.Argv, MaxArgv)})
	l.Argv = nil
	c.series(p, requests, &dressed{p})
}

// dressed handles the keeper's answer when a ghost has its session and its command line.
type dressed struct{ p *proc }

func (r *dressed) answered(c *Core, errno unix.Errno) {
	p := r.p
	p.settling = false
	switch {
	case p.state != spawning || c.procs[p.pid] != p: // it is abandoned
	case errno != 0:
		c.abandon(p, wire.StageGhost, errno)
	default:
		c.settleIn(p)
	}
}

// contend goes on with other launches that have named the number of a ghost as theirs.
func (c *Core) contend(p *proc) {
	rivals := p.rivals
	p.rivals = nil
	for _, l := range rivals {
		c.begin(l)
	}
}

// attaching is a client on a node that wants to go on with a process that it has started.
type attaching struct{ Attach }

func (a *attaching) ready(c *Core, s *session) {
	in, p := a.Attach, c.procs[a.PID]
	r, ended := c.reports[a.PID]
	switch {
	case c.callerOf(in.From, in.Who) == nil:
		s = nil
	case p != nil && p.is(in.Launch) && p.parent == in.Who.PID:
	case ended && r.launch == in.Launch && r.parent == in.Who.PID:
	default:
		s = nil
	}
	in.Client.ready(c, s)
}
