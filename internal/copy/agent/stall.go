package agent

import "time"

// Tick is how often an agent checks whether a receiver takes nothing of the stream. It counts ticks
// instead of measuring time: a copy that was stopped and continued has not waited.
const Tick = time.Second

// watch drops outlets that hold up the others for a number of ticks without taking a piece, or that
// take nothing for as many ticks at the end of the stream, and calls stalled for each. It must be
// called after start, and returns when all outlets have ended.
//
// An agent that waits for one below it takes nothing either, so agents higher up must have more
// ticks.
func (h *hub) watch(ticks int, stalled func(id int)) {
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	idle := make([]int, len(h.outlets))
	before := make([]int64, len(h.outlets))
	for range ticker.C {
		left := false
		for i, o := range h.outlets {
			if o.ended.Load() {
				continue
			}
			left = true
			taken := o.taken.Load()
			if idle[i]++; taken != before[i] || !h.holdsUp(o) {
				idle[i], before[i] = 0, taken
			}
			if idle[i] == ticks {
				o.kill()
				stalled(o.id)
			}
		}
		if !left {
			return
		}
	}
}

// holdsUp reports whether others wait for an outlet: its queue is full, or the stream has ended
// here, but perhaps not for the agents below. No agent is below the target of this machine.
func (h *hub) holdsUp(o *outlet) bool {
	select {
	case <-h.ending:
		return o.id != localID
	default:
		return len(o.pieces) == cap(o.pieces)
	}
}
