package master

import (
	"time"

	"bproc/wire"
)

// soon is when slaves are told what changes often and need not be told at once:
// how far the front end has caught up with their events (but when it has by
// many), and shares of budgets.
const soon = 100 * time.Millisecond

// progressEvents is how many events a slave is told of at once.
const progressEvents = 1000

// hasNews reports whether there is something to be told soon.
func (c *core) hasNews() bool {
	return len(c.behind) > 0 || len(c.unshared) > 0 || len(c.crowded) > 0 || len(c.marks) > 0
}

// tellNews tells it.
func (c *core) tellNews() {
	c.tellProgress()
	c.tellShares()
	c.tellAllotments()
	c.tellMarks()
}

// progress notes that more of a session may be certain.
func (c *core) progress(s *session) {
	at := s.tally.certain()
	s.certain.Move(at)
	switch {
	case s.ended || at == s.told:
	case at-s.told >= progressEvents:
		s.tellProgress()
	case !s.behind:
		s.behind = true
		c.behind = append(c.behind, s)
	}
}

// tellProgress tells the slaves that have not been told lately.
func (c *core) tellProgress() {
	for _, s := range c.behind {
		s.behind = false
		if !s.ended {
			s.tellProgress()
		}
	}
	c.behind = c.behind[:0]
}

func (s *session) tellProgress() {
	if at := s.tally.certain(); at != s.told {
		s.told = at
		s.put(&wire.Progress{Event: at})
	}
}
