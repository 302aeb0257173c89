package master

import (
	"time"

	"bproc/wire"
)

// A slave is told how far the front end has caught up with its events: when it
// has by many, and otherwise soon.
const (
	progressEvents = 1000
	progressTime   = 100 * time.Millisecond
)

// progress notes that the barrier of a session may have moved.
func (c *core) progress(s *session) {
	switch at := s.barrier.at.Load(); {
	case s.ended || at == s.told:
	case at-s.told >= progressEvents:
		s.tellProgress()
	case !s.behind:
		s.behind = true
		c.behind = append(c.behind, s)
	}
}

// tellProgress tells the slaves that have not been told lately. It is called
// progressTime after there is one to be told.
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
	if at := s.barrier.at.Load(); at != s.told {
		s.told = at
		s.put(&wire.Progress{Event: at})
	}
}
