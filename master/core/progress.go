package core

import "bproc/wire"

// progressEvents is how many events a slave is told of at once.
const progressEvents = 1000

// hasNews reports whether there is something to be told soon.
func (c *Core) hasNews() bool {
	return len(c.behind) > 0 || len(c.unshared) > 0 || len(c.crowded) > 0 || len(c.marks) > 0
}

// tellNews tells slaves and the keeper what changes often and need not be told at once: how far
// the front end has caught up with their events (but when it has by many), and shares of
// budgets.
func (c *Core) tellNews() {
	c.tellProgress()
	c.tellShares()
	c.tellAllotments()
	c.tellMarks()
}

// progress notes that more of a session may be certain.
func (c *Core) progress(s *session) {
	at := s.acks.certain()
	if at > s.certain {
		s.certain = at
		c.emit(Certain{s.id, at})
	}
	switch {
	case s.ended || at == s.told:
	case at-s.told >= progressEvents:
		c.tellProgressOf(s)
	case !s.behind:
		s.behind = true
		c.behind = append(c.behind, s)
	}
}

// tellProgress tells the slaves that have not been told lately.
func (c *Core) tellProgress() {
	for _, s := range c.behind {
		s.behind = false
		if !s.ended {
			c.tellProgressOf(s)
		}
	}
	c.behind = c.behind[:0]
}

func (c *Core) tellProgressOf(s *session) {
	if at := s.acks.certain(); at != s.told {
		s.told = at
		c.put(s, &wire.Progress{Event: at})
	}
}
