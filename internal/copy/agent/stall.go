package agent

import "time"

// Tick is how often an agent looks whether something that it passes the stream on to has taken
// nothing. Ticks are counted, not time: a copy that was stopped and goes on has not waited.
const Tick = time.Second

// watch drops outlets that have held the others up for a number of ticks without taking a piece, or
// that have so much to take at the end of the stream, and says which. It returns when all outlets
// have ended, and must be called after start.
//
// An agent that waits for one below it takes nothing either, so those above must have more ticks.
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

// holdsUp reports whether others wait for an outlet: its queue is full, or the stream has ended here,
// but perhaps not for those below. Nothing is below the target of this machine.
func (h *hub) holdsUp(o *outlet) bool {
	select {
	case <-h.ending:
		return o.id != localID
	default:
		return len(o.pieces) == cap(o.pieces)
	}
}
