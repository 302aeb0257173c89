package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// fromNode handles a message of a slave's control stream.
func (c *Core) fromNode(s *session, number uint64, m wire.Message) {
	if s.ended {
		return
	}
	switch m := m.(type) {
	case *wire.Events:
		if m.First != s.last+1 {
			c.log.Error("events of a node are not in order; its connection is closed", "node", s.node, "seq", m.First)
			c.close(s, ErrOrder)
			return
		}
		for i := range m.Events {
			s.begin()
			c.event(s, &m.Events[i])
			s.acks.done(s.last)
		}
		c.settle(s)
	case *wire.Call:
		c.call(s, number, m)
	case *wire.SignalsTaken:
		c.signalsTaken(s, m)
	case *wire.BlocksWanted:
		// A node that gets no block goes on with those it has; its next request may succeed.
		c.lend(s, m.Blocks > 0)
	case *wire.RenewRequest:
		c.certify(s, m)
	case *wire.Leaving:
		c.leaves(s, m.Empty)
	case *wire.Powered:
		c.powered(s, m)
	case *wire.Bounded:
		c.bounded(s, m)
	case *wire.BlocksReturned:
		c.takeBack(s, m.Blocks)
	default:
		c.log.Error("slave sent a message that it should not; its connection is closed", "node", s.node, "msg", m.Type())
		c.close(s, ErrUnexpected)
	}
}

// event handles one event. An event about a process that the node does not own is ignored.
func (c *Core) event(s *session, e *wire.Event) {
	if e.Kind == wire.EventForked {
		c.forked(s, e)
		return
	}
	if c.ofStranger(s, e) {
		return
	}
	p := c.procs[e.PID]
	// A node has not been asked yet for a process that is adopting. An event of another birth is
	// about a process whose number has passed on.
	if p == nil || p.sess != s || p.state == adopting || !p.is(e.Birth) {
		return
	}
	switch e.Kind {
	case wire.EventSpawned:
		c.spawned(p, e.Stage, unix.Errno(e.Errno))
	case wire.EventExited:
		c.exited(p, e)
	case wire.EventZombie:
		c.effect(p, &wire.GhostExit{PID: p.pid, Status: e.Status, Zombie: true}) // its children have another parent then
	case wire.EventExeced, wire.EventGrouped, wire.EventUser:
		c.follow(p, e)
	case wire.EventStopped:
		c.stopped(p, uint8(e.Status))
	case wire.EventContinued:
		c.continued(p)
	case wire.EventReaper:
		c.effect(p, &wire.GhostTrait{PID: p.pid, Option: unix.PR_SET_CHILD_SUBREAPER, Value: uint32(e.Status)})
	case wire.EventDeath:
		c.effect(p, &wire.GhostTrait{PID: p.pid, Option: unix.PR_SET_PDEATHSIG, Value: uint32(e.Status)})
	default:
		c.log.Warn("slave reported an event of an unknown kind", "node", s.node, "pid", e.PID)
	}
}

// exited ends the ghost of a process that has ended.
func (c *Core) exited(p *proc, e *wire.Event) {
	if p.state == ending {
		return
	}
	if p.state == spawning { // killed before its Spawned was handled: this cannot happen, but must not be lost
		c.abandon(p, wire.StageSpawn, unix.ECHILD)
		return
	}
	p.usage, p.lost = e.Usage, e.WithNode
	c.end(p, e.Status)
	c.report(p)
	if p.ghost {
		p.after = append(p.after, c.hold(p.sess))
	}
}

// forked has a ghost made for a process that was forked on a node. The ghost of the process that
// called clone makes it, so group, session and identity are right at once, and the parent as well:
// with CLONE_PARENT it is the maker's parent, which may be a process of the front end. If the
// number is that of a process that has just ended, and whose ghost has not, the new ghost waits for
// that.
//
// A limit: the ghost of a maker that got SIGKILL is held in its exit and cannot call clone any
// more. A child that the maker forked before the signal reached the node would natively live on as
// an orphan; here it gets no ghost and is killed. (No other ghost can make the child's: the child
// would have that ghost's session, group, credentials and parent, and the kernel does not tell
// whether the SIGKILL was for the whole group, child included.)
func (c *Core) forked(s *session, e *wire.Event) {
	old := c.predecessor(s, e)
	owner, granted := c.alloc.Owner(e.PID)
	maker := c.maker(s, e)
	if !granted || owner != s.node || old != nil && old.state != ending || maker == nil {
		c.stray(s, e, maker)
		return
	}
	p := &proc{pid: e.PID, birth: e.Birth, node: s.node, uid: maker.uid, limit: maker.limit, starter: maker.starter, sess: s, state: forking, ghost: true, unasked: true}
	if old != nil {
		c.remove(old)
		p.former = old
		p.blockers++
	}
	c.add(p)
	c.conceived(p, maker)
	birth := &effect{event: s.last, maker: maker, birth: &wire.GhostFork{Parent: maker.pid, Child: p.pid, Sibling: e.Maker != 0, Birth: e.Birth, Owner: ownership(p.node, p.starter)}}
	s.pending = append(s.pending, birth)
	s.acks.hold(s.last)
	c.bear(p, maker, birth.birth, &bornReply{s: s, p: p, birth: birth})
	c.follow(p, e)
}

// stray kills a process that cannot have a ghost.
func (c *Core) stray(s *session, e *wire.Event, maker *proc) {
	text := "node uses a process number that is not its own; the process is killed"
	if maker == nil {
		text = "node has a process without a parent of its own; it is killed"
	}
	c.log.Error(text, "node", s.node, "pid", e.PID, "parent", e.Parent, "maker", e.Maker)
	c.killUnknown(s, e.PID)
}

// bear has the ghost of maker make the ghost of p, in its turn. Later requests about the maker's
// ghost, its end above all, wait until p's number is free.
func (c *Core) bear(p, maker *proc, birth *wire.GhostFork, then reply) {
	if p.blockers == 0 && maker.blockers == 0 && len(maker.waiting) == 0 {
		(&birthRequest{p, ghostRequest{maker, birth, then}}).do(c)
		return
	}
	l := &labour{p: p, maker: maker}
	p.blockers++ // until the maker's turn comes
	c.inTurn(p, &birthRequest{p, ghostRequest{maker, birth, then}})
	c.inTurn(p, (*labourDone)(l))
	c.inTurn(maker, l)
}

// birthRequest has the ghost of p made.
type birthRequest struct {
	p *proc
	ghostRequest
}

func (r *birthRequest) do(c *Core) {
	r.p.unasked = false
	r.ghostRequest.do(c)
}

// labour is a birth that waits for the turn of its maker and for its number to be free.
type labour struct {
	p, maker *proc
	made     bool // the keeper was asked for the ghost
	blocks   bool // later requests about the maker's ghost wait
}

// do is called at the maker's turn.
func (l *labour) do(c *Core) {
	if c.unblock(l.p); !l.made { // p may already wait for births of its own
		l.blocks = true
		l.maker.blockers++
	}
}

// labourDone is a labour among the requests about the new ghost.
type labourDone labour

func (l *labourDone) do(c *Core) {
	if l.made = true; l.blocks {
		c.unblock(l.maker)
	}
}

// maker returns the process that called clone for a new process; nil: it is not one of the node's,
// or the parent is not.
func (c *Core) maker(s *session, e *wire.Event) *proc {
	own := func(pid wire.PID) *proc {
		if p := c.procs[pid]; p != nil && p.sess == s && !s.hasStranger(pid) {
			return p
		}
		return nil
	}
	switch {
	case e.Maker == 0:
		return own(e.Parent)
	case e.Parent != 0 && own(e.Parent) == nil:
		return nil
	}
	return own(e.Maker)
}

// bornReply handles the keeper's answer about a birth.
type bornReply struct {
	s     *session
	p     *proc
	birth *effect
}

func (r *bornReply) answered(c *Core, errno unix.Errno) {
	if errno == unix.EPIPE {
		c.again = append(c.again, &rebirth{p: r.p, maker: r.birth.maker, birth: r.birth.birth, then: r})
		return
	}
	c.born(r.s, r.p, r.birth, errno)
}

// born moves the barrier of the session that reported a birth when the ghost exists; the process
// may have another session by then. If the ghost cannot be made, its process is killed.
func (c *Core) born(s *session, p *proc, birth *effect, errno unix.Errno) {
	c.ghostMade(p)
	if errno != 0 {
		c.unborn(s, p, birth, errno)
		switch now := c.procs[p.pid]; {
		case p.state != ending:
		case now == p:
			c.remove(p)
			c.ghostEnded(p)
		case now != nil && now.former != nil && now.oldest() == p:
			c.formerGone(now)
		}
	}
	if p.state == forking {
		p.state = running
	}
	birth.done = true
	s.acks.done(birth.event)
	c.settle(s)
}

// unborn kills a process whose ghost could not be made. If the maker's ghost is gone or is ending,
// this kills the processes that it has made by now, too; the process itself may have ended long
// ago.
func (c *Core) unborn(s *session, p *proc, birth *effect, errno unix.Errno) {
	p.ghost = false
	if errno == unix.ESRCH && birth.maker.killed {
		c.log.Debug("a process is killed with its maker", "node", p.node, "pid", p.pid, "maker", birth.maker.pid)
	} else {
		line := logged{Level: Error, Text: "a ghost could not be made; its process is killed", Args: []any{"node", p.node, "pid", p.pid, "err", errno}}
		if errno == unix.EAGAIN {
			c.explainFull(birth.maker, line)
		} else {
			c.emit(Log(line))
		}
	}
	if errno != unix.ESRCH || p.sess != s || s.ended {
		c.kill(p)
		return
	}
	p.killed = true
	c.put(s, &wire.Signal{PID: p.pid, Info: wire.KernelSignal(unix.SIGKILL), Group: true, Seen: birth.event - 1})
}
