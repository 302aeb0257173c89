package procevents

import (
	"slices"

	"bproc/slave/core"
	"bproc/wire"
)

// known returns what the front end knows of p after all events emitted so far. It covers only
// traits, not what events say besides.
func (p *process) known() core.Known {
	k := core.Known{
		PID: p.pid, Birth: p.birth, PGID: p.front.pgid, SID: p.front.sid, User: p.front.user, Group: p.front.group,
		Launched: p.launched, Starting: p.starting, Unnamed: p.unnamed,
	}
	if !p.launched && p.family.ancestor != nil {
		k.Parent = p.family.ancestor.pid
	}
	return k
}

// States returns what is known of the processes of the events that Flush has just returned, after
// each of them.
func (t *Tracker) States() []core.Known { return t.flushed }

// Restore enters the processes that the front end knows, in a tracker without any. Later changes
// come from the records that a former daemon has not released, and from a look at each process:
// Changed and User.
func (t *Tracker) Restore(all []core.Known) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b core.Known) int { return int(a.PID - b.PID) })
	for _, k := range all {
		t.restore(k)
	}
	for _, k := range all {
		if parent := t.procs[k.Parent]; parent != nil && !k.Launched && k.Parent != k.PID {
			parent.adopt(t.procs[k.PID])
		}
	}
	for _, p := range t.procs {
		if p.dead && !p.launched {
			t.zombies = append(t.zombies, p)
		}
	}
}

func (t *Tracker) restore(k core.Known) {
	t.births++
	t.images++
	is := traits{pgid: k.PGID, sid: k.SID, user: k.User, group: k.Group, image: t.images}
	p := &process{
		pid: k.PID, born: is, traits: is, front: is, status: k.Status, serial: t.births, birth: k.Birth,
		launched: k.Launched, starting: k.Starting, ownExec: k.Starting, unnamed: k.Unnamed,
		announced: true, dead: k.Zombie, zombie: k.Zombie, led: k.PGID == k.PID, reaper: k.Reaper, stop: int(k.Stop),
	}
	t.procs[k.PID] = p
	t.enter(p)
}

// Starting reports whether a process has yet to be started from the front end.
func (t *Tracker) Starting(pid wire.PID) bool {
	p := t.launched(pid)
	return p != nil && p.starting
}
