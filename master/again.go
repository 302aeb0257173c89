package master

import (
	"cmp"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// What a node tells again after its inventory may have had its effect or not: this
// master, or a former one, may have handled it, and the keeper what came of that. So it
// has its effect where it is missing, and all of it is looked at before the processes
// of the node are compared with those of the table.

// tellAgain handles the inventory of a session, and what is told again. It returns the
// processes that there are then.
func (c *core) tellAgain(s *session) (alive map[wire.PID]bool) {
	alive = make(map[wire.PID]bool, len(s.inventory.PIDs))
	for _, pid := range s.inventory.PIDs {
		alive[pid] = true
		if c.procs[pid] == nil {
			c.claim(s, pid)
		}
	}
	for _, pid := range s.inventory.Starting {
		if p := c.procs[pid]; p != nil && p.sess == s && p.state == running && p.launch == nil {
			p.state = spawning
			delete(c.absent, pid)
		}
	}
	for _, p := range c.onNode[s.node] {
		p.retold = p.state == ending
	}
	for i := range s.again {
		e := &s.again[i]
		s.begin()
		switch {
		case e.Kind == wire.EventForked:
			alive[e.PID] = true
			c.forkedAgain(s, e, s.again[i+1:])
		case e.Kind == wire.EventExited, e.Kind == wire.EventSpawned && e.Errno != 0:
			delete(alive, e.PID)
			c.endedAgain(s, e)
		default:
			c.toldAgain(s, e)
		}
		c.confirm(s, s.last)
	}
	s.again = nil
	for _, p := range c.onNode[s.node] {
		p.retold = false
	}
	c.settle(s)
	return alive
}

// forkedAgain handles a birth. What is already dead, and has left nothing behind that
// needs it, gets no ghost any more.
func (c *core) forkedAgain(s *session, e *wire.Event, later []wire.Event) {
	switch p := c.procs[e.PID]; {
	case p != nil && p.node == s.node && p.state == forking:
		c.effect(p, &wire.GhostAdopt{PID: p.pid, UID: anyOwner}) // answered after the birth
		c.follow(p, e)
	case p != nil && p.node == s.node && p.state != ending:
		c.follow(p, e)
	case p != nil && p.retold: // its end is told again, too
	case c.claim(s, e.PID):
		c.follow(c.procs[e.PID], e)
	case passed(e.PID, later):
	default:
		c.forked(s, e)
	}
}

// passed reports whether a process ends in later events before it has made another.
func passed(pid wire.PID, later []wire.Event) bool {
	for i := range later {
		switch e := &later[i]; {
		case e.Kind == wire.EventForked && cmp.Or(e.Maker, e.Parent) == pid:
			return false
		case e.Kind == wire.EventExited && e.PID == pid:
			return true
		}
	}
	return false
}

// endedAgain handles an end. The ghost may be about to end, or gone.
func (c *core) endedAgain(s *session, e *wire.Event) {
	p := c.procs[e.PID]
	switch {
	case p == nil || p.node != s.node:
	case p.state == ending:
		p.retold = false
		p.after = append(p.after, c.hold(s))
	default:
		c.event(s, e)
	}
}

func (c *core) toldAgain(s *session, e *wire.Event) {
	if p := c.procs[e.PID]; p != nil && p.state != ending {
		c.event(s, e)
	}
}

// inventory compares what the node has with what the process table says. A
// process that the node does not have has ended without word; one that the
// table does not have cannot be let live, nobody could see or end it. It returns the
// processes that are to be started and that the node was not asked for.
func (c *core) inventory(n *node, s *session) (unasked []*proc) {
	alive := c.tellAgain(s)
	for pid := range alive {
		p := c.procs[pid]
		if p == nil || p.node != n.ID || p.state == ending || p.state == adopting {
			c.log.Warn("node has a process without a ghost; it is killed", "node", n.ID, "pid", pid)
			s.signal(&wire.Signal{PID: pid, Info: kernelSignal(unix.SIGKILL)})
			continue
		}
		c.goesOn(s, p)
	}
	for _, p := range c.procs {
		switch {
		case p.node != n.ID || alive[p.pid]:
		case p.state == spawning && p.launch != nil:
			unasked = append(unasked, p)
		default:
			c.lose(p)
		}
	}
	return unasked
}

// early are messages that have come before all that is told again.
type early struct {
	number uint64
	msg    wire.Message
}

// maxEarly and maxAgain bound what a node can say before it is part of the cluster.
const (
	maxEarly = 4 * maxCalls
	maxAgain = 1 << 20
)

// readAgain reads what a node tells again, and what it says in between.
func (s *session) readAgain(reader *wire.Reader) (between []early, err error) {
	again := s.inventory.Again
	if again > maxAgain {
		return nil, errOrder
	}
	for uint64(len(s.again)) < again {
		m, number, err := reader.Read()
		if err != nil {
			return nil, err
		}
		events, ok := m.(*wire.Events)
		switch {
		case !ok && len(between) < maxEarly:
			between = append(between, early{number, m})
			continue
		case !ok:
			return nil, errUnexpected
		case events.First != uint64(len(s.again))+1:
			return nil, errOrder
		}
		n := min(int(again)-len(s.again), len(events.Events))
		s.again = append(s.again, events.Events[:n]...)
		if n < len(events.Events) {
			between = append(between, early{0, &wire.Events{First: again + 1, Events: events.Events[n:]}})
		}
	}
	return between, nil
}

// goesOn tells a process what its node may have missed between two sessions.
func (c *core) goesOn(s *session, p *proc) {
	p.signals.renew()
	if p.state == spawning && !s.starting(p.pid) { // its Spawned went with the former session
		c.spawned(p, 0, 0)
		return
	}
	killed := p.killed
	p.release()
	if killed {
		p.kill()
	}
}
