package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// effect is an effect of an event on the front end that later output of the session waits for: a
// ghost, its group and session, its credentials. So a program that learns of a process can use its
// number as on one machine.
type effect struct {
	event uint64
	birth *wire.GhostFork // request that makes the ghost; nil: another effect
	maker *proc           // process whose ghost makes it
	done  bool
}

// settle moves the barrier of a session to the last event up to which all effects are in place, and
// carries out the calls that have waited for that.
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

// follow changes a ghost as an event says of its process: its group and session, the command line
// and the credentials of a program. What the event does not mention the ghost already has, from its
// birth or from earlier events.
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
			p.rises(user)
			c.changeUser(p, user.Real)
		}
	}
}

// joinGroup moves a ghost into a group or a session. The ghost of a zombie is moved by the ghost of
// its parent, in the turn of the latter.
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

// lateJoin is a ghost's join of another ghost's group, which waits for the turn of both: a group
// can be joined only after its leader has made it and while it has a member.
type lateJoin struct {
	p, leader *proc
	ready     bool // it is the leader's turn
	waits     bool // p waits for the leader's turn
	done      bool
	blocks    bool // later requests about the leader's ghost wait
}

// do is called at the leader's turn.
func (j *lateJoin) do(c *Core) {
	if j.ready = true; !j.done {
		j.blocks = true
		j.leader.blockers++
	}
	if j.waits {
		c.unblock(j.p)
	}
}

// joinsNext is a lateJoin among the requests about p.
type joinsNext lateJoin

func (j *joinsNext) do(*Core) {
	if !j.ready {
		j.waits = true
		j.p.blockers++
	}
}

// lateJoined is a lateJoin after its request has gone to the keeper.
type lateJoined lateJoin

func (j *lateJoined) do(c *Core) {
	if j.done = true; j.blocks {
		c.unblock(j.leader)
	}
}

// orSame returns ids, or for nil the value that leaves credentials unchanged (-1 in setresuid(2)).
func orSame(ids *wire.IDs) wire.IDs {
	const same = ^uint32(0)
	if ids == nil {
		return wire.IDs{Real: same, Effective: same, Saved: same}
	}
	return *ids
}

// effect is change for an effect that output waits for.
func (c *Core) effect(p *proc, m wire.Message) { c.effectOf(p, m, nil) }

// effectOf is effect for a birth that was reported before, or for no birth.
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

// differs logs the failure of a request that was to make a ghost like its process.
func (c *Core) differs(p *proc, m wire.Message, errno unix.Errno) {
	if errno != 0 && errno != unix.ESRCH && errno != unix.EEXIST {
		c.log.Warn("a ghost is not as its process is", "node", p.node, "pid", p.pid, "msg", m.Type(), "err", errno)
	}
}
