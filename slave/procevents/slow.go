package procevents

import (
	"slices"
	"time"
)

// A process whose command line cannot be read in time is read again later. Its ghost shows what it
// did before until then, and the name of the program when the command line is late for the second
// time.

// How often slow processes are read again, and how many of them at a time.
const (
	slowLook  = time.Second
	slowReads = 256
)

// readAgain has the command line of p read again.
func (t *Tracker) readAgain(p *process) {
	if len(t.slow) == 0 {
		t.slowAt = t.clock.Add(slowLook)
	}
	p.slow = true
	if !p.reread {
		p.reread = true
		t.slow = append(t.slow, p)
	}
}

// readSlow has the command lines of slow processes reported, if it is time for that.
func (t *Tracker) readSlow() {
	if len(t.slow) == 0 || t.clock.Before(t.slowAt) {
		return
	}
	t.slow = slices.DeleteFunc(t.slow, func(p *process) bool {
		p.reread = !p.gone && !p.dead && p.slow
		return !p.reread
	})
	now := t.slow[:min(len(t.slow), slowReads)]
	t.slow, t.slowAt = slices.Clone(t.slow[len(now):]), t.clock.Add(slowLook)
	for _, p := range now {
		p.reread = false
		p.front.image = unknownImage
		t.changed(p)
	}
}
