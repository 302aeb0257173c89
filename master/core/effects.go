package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// effect is what an event has on the front end, and what output of its session after it
// waits for: a ghost, its group and session, its credentials. So whoever hears of a process
// can do with its number what he could on one machine.
type effect struct {
	event uint64
	birth *wire.GhostFork // that makes the ghost; nil: another effect
	maker *proc           // whose ghost makes it
	done  bool
}

// settle moves the barrier of a session to the last event whose effects, and those of all
// events before it, are in place, and carries out the calls that have waited for that.
func (c *Core) settle(s *session) {
	for len(s.pending) > 0 && s.pending[0].done {
		s.pending = s.pending[1:]
	}
	at := s.last
	if len(s.pending) > 0 {
		at = s.pending[0].event - 1
	} else {
		s.pending = nil
	}
	if at > s.placed {
		s.placed = at
		c.emit(Placed{s.id, at})
	}
	c.carryOutCalls(s)
	c.progress(s)
}

// follow makes a ghost what an event says of its process: in a group and a
// session, with the command line and the credentials of a program. What the
// event does not say, the ghost has already, by birth or from before.
func (c *Core) follow(p *proc, e *wire.Event) {
	if e.PGID != 0 || e.SID != 0 {
		c.joinGroup(p, e)
	}
	if len(e.Argv) > 0 || e.Comm != "" {
		m, bytes := c.argvs.exec(p.sess, p, e)
		c.change(p, m, &argvTaken{p.sess, bytes})
	}
	if e.User != nil || e.Group != nil {
		user := c.believed(p.node, e.User)
		c.effect(p, &wire.GhostUser{PID: p.pid, User: orSame(user), Group: orSame(e.Group)})
		if user != nil {
			c.changeUser(p, user.Real)
		}
	}
}

// joinGroup moves a ghost into a group or a session. A zombie is moved by its parent's ghost,
// which is asked in its own turn.
func (c *Core) joinGroup(p *proc, e *wire.Event) {
	m := &wire.GhostJoin{PID: p.pid, PGID: e.PGID, SID: e.SID}
	if parent := c.procs[e.Maker]; e.Kind == wire.EventGrouped && e.Maker != 0 && parent != nil && parent.sess == p.sess {
		m.PID, m.Child = parent.pid, p.pid
		p = parent
	}
	leader := c.procs[e.PGID]
	if leader == nil || leader == p || leader.sess != p.sess || p.isFree() && leader.isFree() {
		c.effect(p, m)
		return
	}
	j := &lateJoin{p: p, leader: leader}
	c.inTurn(p, (*joinsNext)(j))
	c.inTurn(leader, j)
	c.effect(p, m)
	c.inTurn(p, (*lateJoined)(j))
}

// isFree reports whether requests about the ghost of p go to the keeper at once.
func (p *proc) isFree() bool { return p.blockers == 0 && len(p.waiting) == 0 }

// lateJoin is a ghost that joins the group of another one when it is the turn of both: a group cannot be joined before its
// leader has made it, nor when it has nobody any more.
type lateJoin struct {
	p, leader *proc
	ready     bool // it is the leader's turn
	waits     bool // p, for that
	done      bool
	blocks    bool // what the leader's ghost does next
}

// do says that it is the leader's turn.
func (j *lateJoin) do(c *Core) {
	if j.ready = true; !j.done {
		j.blocks = true
		j.leader.blockers++
	}
	if j.waits {
		c.unblock(j.p)
	}
}

// joinsNext is lateJoin as the requests about the ghost that joins see it.
type joinsNext lateJoin

func (j *joinsNext) do(*Core) {
	if !j.ready {
		j.waits = true
		j.p.blockers++
	}
}

// lateJoined is lateJoin when the keeper has been asked.
type lateJoined lateJoin

func (j *lateJoined) do(c *Core) {
	if j.done = true; j.blocks {
		c.unblock(j.leader)
	}
}

// orSame returns what leaves credentials as they are if there is nothing else
// (setresuid(2): -1).
func orSame(ids *wire.IDs) wire.IDs {
	const same = ^uint32(0)
	if ids == nil {
		return wire.IDs{Real: same, Effective: same, Saved: same}
	}
	return *ids
}

// effect is change for something that output waits for.
func (c *Core) effect(p *proc, m wire.Message) { c.effectOf(p, m, nil) }

// effectOf is effect for a birth that was told before, or for no birth.
func (c *Core) effectOf(p *proc, m wire.Message, birth *wire.GhostFork) {
	s := p.sess
	e := &effect{event: s.last, birth: birth}
	s.pending = append(s.pending, e)
	c.change(p, m, &effectDone{s, e})
}

type effectDone struct {
	s *session
	e *effect
}

func (d *effectDone) do(c *Core) {
	d.e.done = true
	c.settle(d.s)
}

// change changes the ghost of p as the process has changed.
func (c *Core) change(p *proc, m wire.Message, then task) {
	c.repeated(p, m, &changed{p, m, c.hold(p.sess), then})
}

type changed struct {
	p       *proc
	message wire.Message
	event   held
	then    task
}

func (d *changed) answered(c *Core, errno unix.Errno) {
	c.differs(d.p, d.message, errno)
	d.then.do(c)
	d.event.do(c)
}

// differs logs that a request which makes a ghost what its process is has failed.
func (c *Core) differs(p *proc, m wire.Message, errno unix.Errno) {
	if errno != 0 && errno != unix.ESRCH && errno != unix.EEXIST {
		c.log.Warn("a ghost is not as its process is", "node", p.node, "pid", p.pid, "msg", m.Type(), "err", errno)
	}
}
