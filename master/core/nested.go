package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A process of a node may start others, on any node: a nested launch. Its ghost makes that of the
// new process, as at a birth, so parent, group, session and credentials are right; the number is
// one that the front end's kernel has free. From then on it is a launch as any other.
//
//	FreeNumber, GhostFork by the caller's ghost, GhostJoin if it leads, GhostExec > Spawn ...
//
// A node speaks for its own processes only. One with limited trust has them start others there, and
// nowhere else: its root can be all of them.

// numberTries is how many numbers are tried for a nested launch.
const numberTries = 4

// callerOf returns the process that asks for a nested launch; nil: its node has none such. It may
// ask before the answer to its Spawn has come.
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

// mayNest reports whether a process of a node may start one on another. If not, that fails.
func (c *Core) mayNest(l *launch) bool {
	p := c.callerOf(l.From, l.Who)
	fail := Fail{Client: l.Client, Stage: wire.StageRequest, Errno: unix.EPERM}
	switch {
	case p == nil:
		fail.Errno = unix.ESRCH
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

// nest begins with a nested launch.
func (c *Core) nest(l *launch, n *node) {
	if n.sess.awaitsNumbers() {
		c.delayed = append(c.delayed, l)
		return
	}
	c.wonder(FreeNumber{}, &numbering{l, numberTries})
}

// numbering is a nested launch that is to have a number.
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

// beget has the ghost of the caller make one for a nested launch.
func (c *Core) beget(t *numbering, n *node, maker *proc) {
	p := c.launched(t.launch, n)
	p.limit, p.unasked = maker.limit, true
	c.add(p)
	birth := &wire.GhostFork{Parent: maker.pid, Child: p.pid, Birth: p.birth, Owner: ownership(p.node, p.starter), HangUp: p.hangUp}
	c.bear(p, maker, birth, &begotten{t, p, maker, birth})
}

// begotten is what the keeper says of the ghost of a nested launch.
type begotten struct {
	*numbering
	p, maker *proc
	birth    *wire.GhostFork
}

func (r *begotten) answered(c *Core, errno unix.Errno) {
	switch {
	case errno == unix.EPIPE:
		c.again = append(c.again, &rebirth{p: r.p, maker: r.maker, birth: r.birth, then: r})
	case errno == unix.EEXIST && r.tries > 0: // it was free
		c.remove(r.p)
		c.wonder(FreeNumber{}, r.numbering)
		c.contend(r.p)
	case errno != 0:
		c.adopted(r.p, errno)
	default:
		c.begat(r.p)
	}
}

// begat goes on with a ghost that there is: it gets the command line of its process, and leads a
// session if that is to.
func (c *Core) begat(p *proc) {
	l := p.launch
	p.ghost, p.state, p.settling = true, spawning, true
	c.contend(p)
	var requests []wire.Message
	if l.Leads {
		requests = append(requests, &wire.GhostJoin{PID: p.pid, PGID: p.pid, SID: p.pid})
	}
	requests = append(requests, &wire.GhostExec{PID: p.pid, Argv: CutArgv(l.Argv, MaxArgv)})
	l.Argv = nil
	c.series(p, requests, &dressed{p})
}

// dressed is a ghost that has its command line and its session.
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

// contend goes on with others that have named the number of a ghost as theirs.
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
