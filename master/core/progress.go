package core

import "bproc/wire"

// progressEvents is the number of certain events of which a slave is told at once.
const progressEvents = 1000

// hasNews reports whether there is something to be told soon.
func (c *Core) hasNews() bool {
	return len(c.behind) > 0 || len(c.unshared) > 0 || len(c.crowded) > 0 || len(c.marks) > 0
}

// tellNews batches what changes often: acknowledgements of events (many are sent at once), shares
// of budgets, allotments, and marks for the keeper.
func (c *Core) tellNews() {
	c.tellProgress()
	c.tellShares()
	c.tellAllotments()
	c.tellMarks()
}

// progress notes that more events of a session may be certain.
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

// tellProgress sends the acknowledgements that are due.
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
