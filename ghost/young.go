package ghost

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A ghost that runs the image anew has an alarm set, by which it ends if nobody adopts it
// (codes). One that is held does not get it, but one whose keeper is being replaced at that
// moment would. So the alarm is taken away from a ghost that has lived for a while; from
// most, which end sooner, it need not be.

// quietTime is after what time it is taken away: soon enough that a keeper may be away for the
// rest of AdoptTime.
const quietTime = 2 * time.Second

// young is a ghost with its alarm.
type young struct {
	g     *held
	until time.Time // that long it counts as young
}

// raise is for a ghost that has just begun with the image.
func (s *shard) raise(g *held) {
	g.alarmed = true
	s.young = append(s.young, young{g, time.Now().Add(quietTime)})
	s.tickAfter(quietTime)
}

// quietGrown has the alarm taken away from those that are not young any more.
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
