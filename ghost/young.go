package ghost

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A ghost that starts the image has an alarm set, which ends it if it is not adopted (codes). A
// ghost that is held does not get the signal, but a ghost whose keeper is being replaced at that
// moment would. So the alarm is taken away from a ghost that has lived for a while. Most ghosts end
// sooner and need not be driven for that.

// quietTime is the age at which the alarm is taken away: early enough that a keeper may be away for
// the rest of AdoptTime.
const quietTime = 2 * time.Second

// young is a ghost with its alarm set.
type young struct {
	g     *held
	until time.Time // until then it counts as young
}

// raise records that a ghost has just started the image.
func (s *shard) raise(g *held) {
	g.alarmed = true
	s.young = append(s.young, young{g, time.Now().Add(quietTime)})
	s.tickAfter(quietTime)
}

// quietGrown takes the alarm away from the ghosts that are no longer young.
func (s *shard) quietGrown(now time.Time) {
	for len(s.young) > 0 && !s.young[0].until.After(now) {
		g := s.young[0].g
		if s.ghosts[g.pid] == g && g.alarmed && !g.asked && !g.killed && s.queue.put(request{msg: &wire.GhostSync{PID: g.pid}}) != nil {
			break // the queue is full; the next tick tries again
		}
		s.young[0] = young{}
		s.young = s.young[1:]
	}
	if len(s.young) > 0 {
		s.tickAfter(max(s.young[0].until.Sub(now), quietTime/8)) // many at once
	}
}

// quiet takes the alarm away (setitimer(2)).
func (d *driven) quiet() error {
	l := d.list()
	l.callThen(func() { d.g.alarmed = false }, unix.SYS_SETITIMER, unix.ITIMER_REAL, l.put(make([]byte, sizeofItimerval)), 0)
	return d.make(l)
}

const sizeofItimerval = 2 * 2 * 8
