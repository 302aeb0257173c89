package procevents

import (
	"slices"
	"time"

	"bproc/wire"
)

// maxZombies bounds how many processes are reported as zombies at a time; others are reported as
// ended. A user has at most half of the places, and some always remain for the next.
const maxZombies = 64

// zombieLook is the time between looks at the zombies when nothing else happens.
const zombieLook = 20 * time.Millisecond

// KeepZombies has a process reported as a zombie if [Tracker.Look] has not found, when its end is
// due, that its parent has waited for it: a zombie is in its group, so that others can join the
// group or send it signals (setpgid(2), kill(2)). zombie returns the group, session and credentials
// of a process that has ended and is still there.
func (t *Tracker) KeepZombies(zombie func(wire.PID) (ProcessInfo, bool)) { t.zombie = zombie }

// stays reports whether the ghost of a process that has ended must be a zombie. The last action of
// the process may have been a change of its group or credentials that has not been seen.
//
// A process that has been waited for stays as long as it is wanted: so its children get at once the
// parent that has adopted them.
func (t *Tracker) stays(p *process) bool {
	if t.zombie == nil || p.gone || !t.hasPlace(p) || p.reaped && !t.wanted(p) {
		return false
	}
	if info, ok := t.remains(p); ok {
		t.tellLast(p, info)
	}
	return true
}

// hasPlace reports whether a process can be one of the zombies, for the share of its user.
func (t *Tracker) hasPlace(p *process) bool {
	mine := 0
	for _, z := range t.zombies {
		if z.traits.user.Real == p.traits.user.Real {
			mine++
		}
	}
	return mine < maxZombies-len(t.zombies)
}

// tellLast reports the last change of a process.
func (t *Tracker) tellLast(p *process, is ProcessInfo) {
	moved := is.PGID != p.traits.pgid || is.SID != p.traits.sid
	if moved {
		t.see(p, is.PGID, is.SID)
	}
	p.traits.user, p.traits.group = is.User, is.Group
	if moved || p.renamed() || p.traits.image != p.front.image {
		t.tellChange(p)
	}
}

// wanted reports whether a process that is still to be reported needs the ghost of p, or whether
// that is the last in a group that is still to be joined.
func (t *Tracker) wanted(p *process) bool {
	return p.needed > 0 || t.groups[p.front.pgid] == 1 && t.queue.joins(p.front.pgid)
}

// Look finds the processes that have been waited for, among those whose ends are due or among all
// that have ended, and reports whether there are any new ones. What a process did before it waited,
// such as joining a group, may not have been taken in. So the records must be drained once more
// before Flush, which reports only the ends of processes that were found.
func (t *Tracker) Look(all bool, now time.Time) (found bool) {
	if t.zombie == nil {
		return false
	}
	t.advance(now)
	look := func(p *process) {
		if !p.dead || p.gone || p.reaped {
			return
		}
		if _, there := t.remains(p); !there {
			p.reaped, found = true, true
		}
	}
	due := t.queue.items
	if !all {
		due = t.queue.due(t.clock, t.holds())
	}
	for _, it := range due {
		look(it.process)
	}
	for _, p := range t.shorts {
		look(p)
	}
	if all || !t.clock.Before(t.zombiesAt) {
		for _, p := range t.zombies {
			look(p)
		}
	}
	return found
}

// remains returns what is left of a process that has ended, if it is still there.
func (t *Tracker) remains(p *process) (ProcessInfo, bool) {
	if t.zombie == nil || t.procs[p.pid] != p {
		return ProcessInfo{}, false
	}
	return t.zombie(p.pid)
}

// short takes in a process that has ended before its birth was reported and that no reported
// process needs.
func (t *Tracker) short(p *process) {
	if t.zombie == nil {
		t.drop(p)
		return
	}
	t.shorts = append(t.shorts, p)
}

// dropShorts drops processes that are no longer zombies, and those that were needed only for them.
// The births of the others are reported in time.
func (t *Tracker) dropShorts() {
	var stay []*process
	for len(t.shorts) > 0 {
		p := t.shorts[0]
		t.shorts = t.shorts[1:]
		if p.gone || p.announced || p.needed > 0 {
			continue
		}
		if !p.reaped && t.hasPlace(p) {
			stay = append(stay, p)
		} else {
			t.drop(p)
		}
	}
	t.shorts = stay
}

// lingers puts off the birth of a process that has just ended: most are waited for within a moment.
// It must not come behind held changes of its maker, whose ghost must be as the maker was at the
// birth.
func (t *Tracker) lingers(it item) bool {
	p := it.process
	if it.step != birth || !p.dead || p.gone || p.needed > 0 || p.waited {
		return false
	}
	if m := p.maker; m.changing || m.dead || m.turns > 0 || m.moves() || m.renamed() {
		return false
	}
	p.waited = true
	t.push(p, birth)
	return true
}

func (t *Tracker) tellZombie(p *process) {
	t.emit(p, wire.Event{Kind: wire.EventZombie, PID: p.pid, Status: p.status})
	p.zombie = true
	t.zombies = append(t.zombies, p)
	t.zombiesAt = t.clock.Add(zombieLook)
}

// tellReaped ends the ghosts of processes that are no longer zombies.
func (t *Tracker) tellReaped() {
	for _, p := range slices.Clone(t.zombies) {
		if p.reaped && !t.wanted(p) {
			t.tellEnd(p, wire.Event{Status: p.status})
		}
	}
	t.zombiesAt = t.clock.Add(zombieLook)
}
