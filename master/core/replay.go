package core

import (
	"cmp"
	"slices"

	"bproc/wire"
)

// An event that a node reports again after its inventory may or may not have had its effect: this
// master, or a former one, may have handled it, and the keeper what came of it. So it has its
// effect where that is missing, and all such events are handled before the processes of the node
// are compared with those of the table.

// retold are the events that a node reports again.
type retold struct {
	events  []wire.Event
	short   []bool         // of births: the process ends before it makes another process, or another joins its group
	passing []bool         // of changes of group: the process changes its group again before a birth or a join needs this change
	born    map[uint64]int // indexes of the births
	makers  []uint64       // of births: the birth of the maker, if its end is reported again; its number may have passed on
}

func retell(events []wire.Event) *retold {
	r := &retold{events: events, short: make([]bool, len(events)), passing: make([]bool, len(events)), born: make(map[uint64]int), makers: make([]uint64, len(events))}
	births := make(map[wire.PID]uint64) // of the process that the next end of a number is told of
	ends := make(map[wire.PID]bool)     // the next event of the number that concerns others is its end
	moves := make(map[wire.PID]int)     // index of the next change of a process's group, if no birth by it comes before
	joins := make(map[wire.PID]int)     // index of the next join of a group
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		switch e.Kind {
		case wire.EventForked:
			maker := cmp.Or(e.Maker, e.Parent)
			r.short[i], r.born[e.Birth] = ends[e.PID], i
			r.makers[i] = births[maker]
			ends[maker] = false
			delete(moves, maker)
			delete(moves, e.PID)
			delete(births, e.PID)
		case wire.EventSpawned:
			delete(births, e.PID)
		case wire.EventExited:
			ends[e.PID], births[e.PID] = true, e.Birth
			delete(moves, e.PID)
		case wire.EventGrouped:
			next, again := moves[e.PID]
			join, joined := joins[e.PGID]
			r.passing[i] = again && (!joined || join > next)
			moves[e.PID] = i
		default:
		}
		if e.PGID != e.PID {
			ends[e.PGID] = false
		}
		joins[e.PGID] = i
	}
	return r
}

// later reports whether a birth is reported again after an event.
func (r *retold) later(birth uint64, i int) bool { return r.born[birth] > i }

// passedOn reports whether the number of an event now belongs to an orphan that was born later.
func (r *retold) passedOn(o *orphan, i int) bool { return o != nil && r.later(o.Adopted.Birth, i) }

// replayEvents handles the inventory of a session and the events that are reported again. It
// returns the processes that exist then, each with its birth.
func (c *Core) replayEvents(s *session) (alive map[wire.PID]uint64) {
	alive = c.present(s)
	r := retell(s.again)
	for i := range r.events {
		e := &r.events[i]
		s.begin()
		switch {
		case e.Kind == wire.EventForked:
			alive[e.PID] = e.Birth
			c.forkedAgain(s, r, i, alive)
		case e.Kind == wire.EventExited, e.Kind == wire.EventSpawned && e.Errno != 0:
			if same(alive[e.PID], e.Birth) {
				delete(alive, e.PID)
			}
			c.endedAgain(s, e)
		case r.passing[i]: // its former group may be empty, and could not be joined again
		default:
			c.toldAgain(s, e)
		}
		held{s, s.last}.do(c)
	}
	s.again = nil
	c.settle(s)
	return alive
}

// present enters the processes that a node had before the events that it reports again.
func (c *Core) present(s *session) (alive map[wire.PID]uint64) {
	inv := &s.inventory
	alive = make(map[wire.PID]uint64, len(inv.PIDs))
	for i, pid := range inv.PIDs {
		birth := uint64(0)
		if i < len(inv.Births) {
			birth = inv.Births[i]
		}
		alive[pid] = birth
		if c.procs[pid] == nil && c.claim(s, pid, birth) {
			p := c.procs[pid]
			_, p.stops = slices.BinarySearch(inv.Stopped, pid)
			if i < len(inv.Parents) {
				// The keeper may have come after the client had left.
				p.parent = cmp.Or(inv.Parents[i], p.parent)
			}
		}
	}
	for _, pid := range inv.Starting {
		if p := c.procs[pid]; p != nil && p.sess == s && p.state == running && p.launch == nil && p.is(alive[pid]) {
			p.state, p.askedIn = spawning, inv.Space
			delete(c.absent, pid)
		}
	}
	return alive
}

// forkedAgain handles a birth. A process that is already dead, and has left nothing behind that
// needs its ghost, gets none any more.
func (c *Core) forkedAgain(s *session, r *retold, i int, alive map[wire.PID]uint64) {
	e := &r.events[i]
	by := cmp.Or(e.Maker, e.Parent)
	if p := c.procs[e.PID]; p != nil && p.node == s.node && c.ownAgain(s, p, r, i, by) {
		return
	}
	maker, made := c.procs[by], cmp.Or(r.makers[i], alive[by])
	switch {
	case r.passedOn(c.orphans[e.PID], i): // it has ended, and its number has passed on
	case c.claim(s, e.PID, e.Birth):
		c.follow(c.procs[e.PID], e)
	case r.short[i]:
	case maker != nil && !maker.is(made): // another process has the number of the maker
		c.stray(s, e, nil)
	default:
		c.forked(s, e)
	}
}

// ownAgain is forkedAgain where p, of the same node, has the number. It reports whether nothing is left to do.
func (c *Core) ownAgain(s *session, p *proc, r *retold, i int, by wire.PID) bool {
	e := &r.events[i]
	switch {
	case p.is(e.Birth) && p.state == forking:
		c.effectOf(p, &wire.GhostAdopt{PID: p.pid, UID: anyOwner}, &wire.GhostFork{Parent: by}) // answered after the birth
		c.follow(p, e)
	case p.is(e.Birth) && p.state != ending:
		c.follow(p, e)
	case p.born(e.Birth) != nil: // its end is reported again, too
	case p.state != ending || r.later(p.birth, i): // so it has ended, and its number has passed on
	default:
		return false
	}
	return true
}

// endedAgain handles an end. The ghost may be about to end, or gone, and its number may be another
// process's.
func (c *Core) endedAgain(s *session, e *wire.Event) {
	p := c.procs[e.PID].born(e.Birth)
	switch {
	case p == nil || p.node != s.node:
	case p.state == ending:
		p.after = append(p.after, c.hold(s))
	default:
		c.event(s, e)
	}
}

func (c *Core) toldAgain(s *session, e *wire.Event) {
	if p := c.procs[e.PID]; p != nil && p.state != ending {
		c.event(s, e)
	}
}

// replay compares the processes of the node with the process table. A process that the node does
// not have has ended without a report. A process that the table does not have is killed: nobody
// could see or end it. It returns the processes that are to be started and that the node was not
// asked for. A node that was asked, and whose space was made anew since, may have run them.
func (c *Core) replay(n *node, s *session) (unasked []*proc) {
	alive := c.replayEvents(s)
	has := func(p *proc) bool {
		birth, ok := alive[p.pid]
		return ok && p.is(birth)
	}
	strangers := 0
	for _, pid := range inOrder(alive) {
		p := c.procs[pid]
		if p != nil && p.node == n.ID && p.state != ending && p.state != adopting && has(p) {
			c.goesOn(s, p)
			continue
		}
		if strangers++; strangers <= maxStrangers {
			c.log.Warn("node has a process without a ghost; it is killed", "node", n.ID, "pid", pid)
			c.killStranger(s, pid)
		}
	}
	if strangers > maxStrangers {
		c.log.Warn("node has very many processes without ghosts; all its processes are killed", "node", n.ID, "strangers", strangers)
		s.emptying = true
	}
	for _, p := range c.onNodeInOrder(n.ID) {
		switch {
		case has(p):
		case p.state == spawning && p.launch != nil && (p.askedIn == 0 || p.askedIn == s.inventory.Space):
			unasked = append(unasked, p)
		default:
			c.lose(p)
		}
	}
	return unasked
}

// goesOn tells a process what its node may have missed between two sessions.
func (c *Core) goesOn(s *session, p *proc) {
	if p.claimed {
		p.claimed = false
		c.stoppedBefore(p)
	} else if p.state == running || p.state == forking {
		p.stopAsGhost()
	}
	if p.left && p.parent != 0 && s.parent(p.pid) == p.parent {
		c.absent[p.pid] = c.clock // the node has not heard of it, perhaps because its daemon was away
	}
	if p.state == spawning && !s.starting(p.pid) { // its Spawned was lost with the former session
		c.spawned(p, 0, 0)
		return
	}
	killed := p.killed
	c.release(p)
	if killed {
		c.kill(p)
	}
}
