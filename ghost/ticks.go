package ghost

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ticks are when a shard looks after what tells nothing by itself. There are none while
// there is nothing of that kind.
type ticks struct {
	timer *time.Timer
	due   atomic.Bool
	at    time.Time     // of the next; zero: none
	pause time.Duration // before the one after that
}

// The pause between ticks grows from tickTime to maxTick while nothing new is to be
// looked after.
const (
	tickTime = 2 * time.Millisecond
	maxTick  = 512 * time.Millisecond
)

func (t *ticks) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// tickAfter has a tick come after a time, or sooner.
func (s *shard) tickAfter(d time.Duration) {
	at := time.Now().Add(d)
	if s.ticks.timer == nil || !s.ticks.at.IsZero() && s.ticks.at.Before(at) {
		return
	}
	s.ticks.at, s.ticks.pause = at, d
	s.ticks.timer.Reset(d)
}

// tick looks for workers whose time has come, for ghosts that are late or not young any more,
// and, while there are zombies, for ends that nobody tells the shard of.
func (s *shard) tick() {
	if !s.ticks.due.Swap(false) {
		return
	}
	pause := min(2*s.ticks.pause, maxTick)
	s.ticks.at = time.Time{}
	now := time.Now()
	again := false
	for _, w := range s.away {
		s.watch(w, now)
	}
	s.goOnWith(func(w *worker) bool {
		return !w.until.IsZero() && !w.until.After(now) || s.slipped > 0 && w.on != 0 && ready(w)
	})
	for _, g := range s.ghosts {
		if g.ending {
			s.awaitEnd(g)
			again = again || s.slipped > 0
		}
	}
	for _, w := range s.away {
		again = again || s.slipped > 0 || !w.until.IsZero() || !w.tree.stuck
	}
	if again {
		s.tickAfter(pause)
	}
	s.quietGrown(now)
}

// ready reports whether what a worker waits for has come.
func ready(w *worker) bool {
	found, _, err := look(w.on, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG)
	return found != 0 || err != nil
}
