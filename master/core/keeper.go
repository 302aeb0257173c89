package core

import (
	"cmp"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// reply handles the keeper's answer to a request. EPIPE means that the keeper is another one now,
// and that the request may or may not have been carried out.
type reply interface {
	answered(c *Core, errno unix.Errno)
}

// ask sends a request to the keeper.
func (c *Core) ask(m wire.Message, then reply) {
	c.number++
	c.asked[c.number] = then
	c.emit(ToKeeper{Number: c.number, Message: m})
}

// tell sends the keeper a request that has no answer.
func (c *Core) tell(m wire.Message) { c.emit(ToKeeper{Message: m}) }

// fromKeeper handles a message of the keeper.
func (c *Core) fromKeeper(number uint64, m wire.Message) {
	switch m := m.(type) {
	case *wire.GhostDone:
		then := c.asked[number]
		delete(c.asked, number)
		if then != nil {
			then.answered(c, unix.Errno(m.Errno))
		}
	case *wire.GhostSignal:
		c.signal(m)
	case *wire.GhostGone:
		c.ghostGone(m)
	default:
		c.log.Warn("keeper sent a message that it should not", "msg", m.Type())
	}
}

// keeperLost answers the requests that the keeper will not answer any more, in the order in which
// they were made. The answers may lead to requests to the next keeper.
func (c *Core) keeperLost() {
	asked := c.asked
	c.asked = map[uint64]reply{}
	for _, number := range slices.Sorted(maps.Keys(asked)) {
		asked[number].answered(c, unix.EPIPE)
	}
}

// ghostRequest is a request about the ghost of a process, or about one that it makes, that waits
// for its turn. If there is no such ghost by then, the request is not sent: another process may
// have the number.
type ghostRequest struct {
	p       *proc
	message wire.Message
	then    reply // nil: it has no answer
}

func (r *ghostRequest) do(c *Core) {
	switch {
	case r.then != nil && r.p.ghost:
		c.ask(r.message, r.then)
	case r.then != nil:
		r.then.answered(c, unix.ESRCH)
	case r.p.ghost:
		c.tell(r.message)
	}
}

// request sends the keeper a request about the ghost of p; then may be nil.
func (c *Core) request(p *proc, m wire.Message, then reply) {
	c.inTurn(p, &ghostRequest{p, m, then})
}

// inTurn does a task after all earlier requests about the ghost of p.
func (c *Core) inTurn(p *proc, t task) {
	if p.blockers > 0 || len(p.waiting) > 0 {
		p.waiting = append(p.waiting, t)
		return
	}
	t.do(c)
}

// unblock removes one of the blockers of the requests about a ghost.
func (c *Core) unblock(p *proc) {
	p.blockers--
	for p.blockers == 0 && len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		next.do(c)
	}
	if len(p.waiting) == 0 {
		p.waiting = nil
	}
}

// series is a series of requests about the ghost of a process that can be made twice: if the keeper
// is lost before it has answered the last, the next keeper gets all of them.
type series struct {
	p        *proc
	requests []wire.Message
	then     reply // gets the first error of all
	failed   unix.Errno
}

// repeated is request for a message that may be sent twice.
func (c *Core) repeated(p *proc, m wire.Message, then reply) {
	c.series(p, []wire.Message{m}, then)
}

func (c *Core) series(p *proc, requests []wire.Message, then reply) {
	(&series{p: p, requests: requests, then: then}).do(c)
}

func (s *series) do(c *Core) {
	for _, r := range s.all() {
		c.inTurn(s.p, r)
	}
}

// repeat makes all requests at once: the series has had its turn before.
func (s *series) repeat(c *Core) {
	s.failed = 0
	for _, r := range s.all() {
		r.do(c)
	}
}

func (s *series) all() (all []*ghostRequest) {
	for _, m := range s.requests {
		all = append(all, &ghostRequest{s.p, m, (*partOfSeries)(s)})
	}
	all[len(all)-1].then = s
	return all
}

func (s *series) answered(c *Core, errno unix.Errno) {
	switch {
	case errno != unix.EPIPE:
		s.then.answered(c, cmp.Or(s.failed, errno))
	case !s.p.ghost:
		s.then.answered(c, unix.ESRCH)
	default:
		c.again = append(c.again, s)
	}
}

// partOfSeries is a series that handles the answers to all its requests but the last.
type partOfSeries series

func (s *partOfSeries) answered(_ *Core, errno unix.Errno) { s.failed = cmp.Or(s.failed, errno) }

// ghostGone forgets a process whose ghost has ended. If the ghost was not asked to end, its process
// is killed: nothing is left to wait for it or to signal it by.
func (c *Core) ghostGone(m *wire.GhostGone) {
	switch {
	case c.orphans[m.PID] == nil:
	case m.Asked: // by a former master; perhaps the former ghost of this number, whose end is reported again
		c.adoptAgain(m.PID, &orphanLost{m.PID, c.orphans[m.PID].Adopted.Birth})
	default:
		c.orphanGone(m.PID)
	}
	p := c.procs[m.PID]
	if p == nil {
		return
	}
	if oldest := p.oldest(); m.Asked && (!oldest.exits || oldest.stays) {
		oldest.doubt = oldest.stays
		return
	}
	if p.former != nil {
		c.formerGone(p)
		return
	}
	if p.state != ending {
		// Perhaps it waited for room, and there was none.
		c.warnFull(p, logged{Level: Warning, Text: "a ghost ended before its process; the process is killed", Args: []any{"pid", m.PID, "status", uint32(m.Status)}})
		c.kill(p)
		p.ghost = false
		return
	}
	p.ghost = false
	c.remove(p)
	c.ghostEnded(p)
}

// formerGone goes on with the second oldest process of a number: the ghost of the oldest has ended.
func (c *Core) formerGone(p *proc) {
	for p.former.former != nil {
		p = p.former
	}
	former := p.former
	former.ghost = false
	p.former = nil
	c.unblock(p)
	c.ghostEnded(former)
}

// ghostEnded does the tasks that have waited for the ghost's end.
func (c *Core) ghostEnded(p *proc) {
	after := p.after
	p.after = nil
	for _, t := range after {
		t.do(c)
	}
}
