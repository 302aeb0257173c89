package master

// tally knows of which events of a session the consequences are certain, whatever
// happens to the master: a ghost has been made or changed, or is gone. The node keeps
// the others to tell them again.
type tally struct {
	first uint64   // event of open[0], less one
	open  []uint16 // what the events after that wait for
}

// begin enters the next event, which waits for its own handling.
func (t *tally) begin() { t.open = append(t.open, 1) }

// hold has an event wait for one thing more.
func (t *tally) hold(event uint64) { t.open[event-t.first-1]++ }

// done takes in that an event waits for one thing less.
func (t *tally) done(event uint64) {
	t.open[event-t.first-1]--
	n := 0
	for n < len(t.open) && t.open[n] == 0 {
		n++
	}
	t.open, t.first = t.open[n:], t.first+uint64(n)
}

// certain returns the last event of which, and of all before it, the consequences are.
func (t *tally) certain() uint64 { return t.first }

// hold has the event that is being handled wait, until the function that is returned
// is called.
func (c *core) hold(s *session) (done func()) {
	event := s.last
	s.tally.hold(event)
	return func() { c.confirm(s, event) }
}

func (c *core) confirm(s *session, event uint64) {
	s.tally.done(event)
	c.progress(s)
}
