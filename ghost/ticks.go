package ghost

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ticks are the times at which a shard checks what the kernel does not report. There are none while
// nothing needs them.
type ticks struct {
	timer *time.Timer
	due   atomic.Bool
	at    time.Time     // of the next tick; zero: none
	pause time.Duration // between the next tick and the one after it
}

// The pause between ticks grows from tickTime to maxTick while nothing new needs them.
const (
	tickTime = 2 * time.Millisecond
	maxTick  = 512 * time.Millisecond
)

func (t *ticks) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// tickAfter schedules a tick after a time, unless an earlier one is due.
func (s *shard) tickAfter(d time.Duration) {
	at := time.Now().Add(d)
	if s.ticks.timer == nil || !s.ticks.at.IsZero() && s.ticks.at.Before(at) {
		return
	}
	s.ticks.at, s.ticks.pause = at, d
	s.ticks.timer.Reset(d)
}

// tick checks for workers whose time has come, for ghosts that are late or no longer young, and,
// while there are zombies, for ends that the kernel does not report.
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
	if s.slipped > 0 {
		s.findSlipped()
		again = true
	}
	for _, w := range s.away {
		again = again || !w.until.IsZero() || !w.tree.stuck
	}
	if again {
		s.tickAfter(pause)
	}
	s.quietGrown(now)
}

// findSlipped finds ghosts that are not to end, and are zombies: the kernel does not report their ends while another
// zombie is held, see wanted.
func (s *shard) findSlipped() {
	for _, g := range s.ghosts {
		if g.asked || g.slipped {
			continue
		}
		if _, ended, err := look(g.pid, unix.WEXITED|unix.WNOHANG); err == nil && ended {
			s.keepsZombie(g.pid)
		}
	}
}

// ready reports whether the ghost that a worker waits for has stopped or ended.
func ready(w *worker) bool {
	found, _, err := look(w.on, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG)
	return found != 0 || err != nil
}
