package core

// eventAcks knows of which events of a session everything is done, whatever happens to the
// master: a ghost has been made or changed, or is gone. The node keeps the others, to tell
// them again.
type eventAcks struct {
	first uint64   // event of open[0], less one
	open  []uint16 // what the events after that wait for
}

// begin enters the next event, which waits for its own handling.
func (a *eventAcks) begin() { a.open = append(a.open, 1) }

// hold has an event wait for one thing more.
func (a *eventAcks) hold(event uint64) { a.open[event-a.first-1]++ }

// done says that an event waits for one thing less.
func (a *eventAcks) done(event uint64) {
	a.open[event-a.first-1]--
	n := 0
	for n < len(a.open) && a.open[n] == 0 {
		n++
	}
	a.open, a.first = a.open[n:], a.first+uint64(n)
}

// certain returns the last event for which, and for all before it, everything is done.
func (a *eventAcks) certain() uint64 { return a.first }

// held is an event that waits for something. It is done when that is.
type held struct {
	s     *session
	event uint64
}

// hold has the event that is being handled wait until the result is done.
func (c *Core) hold(s *session) held {
	s.acks.hold(s.last)
	return held{s, s.last}
}

func (h held) do(c *Core) {
	h.s.acks.done(h.event)
	c.progress(h.s)
}
