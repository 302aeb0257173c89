package core

// eventAcks records which events of a session are done for good, whatever happens to the master:
// their ghosts have been made or changed, or are gone. The node keeps the other events, to report
// them again.
type eventAcks struct {
	first uint64   // the event before that of open[0]
	open  []uint16 // per event, the number of things that it waits for
}

// begin enters the next event, which waits for its own handling.
func (a *eventAcks) begin() { a.open = append(a.open, 1) }

// hold makes an event wait for one thing more.
func (a *eventAcks) hold(event uint64) { a.open[event-a.first-1]++ }

// done records that an event waits for one thing less.
func (a *eventAcks) done(event uint64) {
	a.open[event-a.first-1]--
	n := 0
	for n < len(a.open) && a.open[n] == 0 {
		n++
	}
	a.open, a.first = a.open[n:], a.first+uint64(n)
}

// certain returns the last event up to which all events are done.
func (a *eventAcks) certain() uint64 { return a.first }

// held is an event that waits for something. Its do ends that wait.
type held struct {
	s     *session
	event uint64
}

// hold makes the event that is being handled wait until do of the result is called.
func (c *Core) hold(s *session) held {
	s.acks.hold(s.last)
	return held{s, s.last}
}

func (h held) do(c *Core) {
	h.s.acks.done(h.event)
	c.progress(h.s)
}
