package master

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// effect is what an event has on the front end, and what the barrier of its
// session waits for: a ghost, its group and session, its credentials. Who hears of
// a process can thus do with its number what he could on one machine.
type effect struct {
	event uint64
	birth *wire.GhostFork // that makes the ghost; nil: another effect
	maker *proc           // whose ghost makes it
	done  bool
}

// settle moves the barrier to the last event whose effects, and those of all
// events before it, are in place, and goes on with what has waited for that.
func (c *core) settle(s *session) {
	for len(s.pending) > 0 && s.pending[0].done {
		s.pending = s.pending[1:]
	}
	if len(s.pending) > 0 {
		s.barrier.Move(s.pending[0].event - 1)
	} else {
		s.pending = nil
		s.barrier.Move(s.last)
	}
	c.goOnCalling(s)
	c.progress(s)
}

// follow makes a ghost what an event says of its process: in a group and a
// session, with the command line and the credentials of a program. What the
// event does not say, the ghost has already, by birth or from before.
func (c *core) follow(p *proc, e *wire.Event) {
	if e.PGID != 0 || e.SID != 0 {
		c.join(p, e)
	}
	if len(e.Argv) > 0 || e.Comm != "" {
		m, done := c.argvs.exec(p.sess, p, e)
		c.change(p, m, done)
	}
	if e.User != nil || e.Group != nil {
		user := c.believed(p.node, e.User)
		c.effect(p, &wire.GhostUser{PID: p.pid, User: orSame(user), Group: orSame(e.Group)})
		if user != nil {
			c.changeUser(p, user.Real)
		}
	}
}

// join moves a ghost into a group or a session. A zombie is moved by its parent's ghost,
// which is asked in its own turn.
func (c *core) join(p *proc, e *wire.Event) {
	m := &wire.GhostJoin{PID: p.pid, PGID: e.PGID, SID: e.SID}
	if parent := c.procs[e.Maker]; e.Kind == wire.EventGrouped && e.Maker != 0 && parent != nil && parent.sess == p.sess {
		m.PID, m.Child = parent.pid, p.pid
		p = parent
	}
	c.effect(p, m)
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

// effect is change for something that the barrier waits for.
func (c *core) effect(p *proc, m wire.Message) {
	s := p.sess
	e := &effect{event: s.last}
	s.pending = append(s.pending, e)
	c.change(p, m, func() {
		e.done = true
		c.settle(s)
	})
}

// change changes the ghost of p as the process has changed; done may be nil. A
// ghost that is not what its process is, is not worth more than a word.
func (c *core) change(p *proc, m wire.Message, done func()) {
	certain := c.hold(p.sess)
	c.repeated(p, m, func(errno unix.Errno) {
		defer certain()
		c.differs(p, m, errno)
		if done != nil {
			done()
		}
	})
}

// differs is for the answer to a request that makes a ghost what its process is.
func (c *core) differs(p *proc, m wire.Message, errno unix.Errno) {
	if errno != 0 && errno != unix.ESRCH && errno != unix.EEXIST {
		c.log.Warn("a ghost is not as its process is", "node", p.node, "pid", p.pid, "msg", m.Type(), "err", errno)
	}
}
