package procevents

import (
	"slices"
	"time"

	"bproc/wire"
)

// maxZombies bounds how many are told to be zombies at a time; the others have just
// ended.
const maxZombies = 32

// zombieLook is how long zombies are not looked at when nothing else happens.
const zombieLook = 20 * time.Millisecond

// KeepZombies has a process told that has ended and whose parent has not waited for
// it when its end is told: a zombie is in its group, so that others can join that
// or send it signals (setpgid(2), kill(2)). zombie reports whether a process that has
// ended is still there.
func (t *Tracker) KeepZombies(zombie func(pid wire.PID) bool) { t.zombie = zombie }

// stays reports whether the ghost of a process that has ended is to be a zombie.
func (t *Tracker) stays(p *process) bool {
	return t.zombie != nil && !p.gone && t.procs[p.pid] == p && len(t.zombies) < maxZombies && t.zombie(p.pid)
}

func (t *Tracker) tellZombie(p *process) {
	t.emit(wire.Event{Kind: wire.EventZombie, PID: p.pid, Status: p.status})
	t.zombies = append(t.zombies, p)
	t.zombiesAt = t.clock.Add(zombieLook)
}

// tellReaped ends the ghosts of those who are no zombies any more.
func (t *Tracker) tellReaped() {
	for _, p := range slices.Clone(t.zombies) {
		if !t.zombie(p.pid) {
			t.tellEnd(p, p.status)
		}
	}
	t.zombiesAt = t.clock.Add(zombieLook)
}
