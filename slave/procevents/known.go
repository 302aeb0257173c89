package procevents

import (
	"slices"

	"bproc/wire"
)

// Known is what the front end knows of a process by what it was told: how its ghost is.
type Known struct {
	PID      wire.PID
	Birth    uint64   // as in wire.Event
	Parent   wire.PID // who made it, or, of one that was started from the front end, its parent there
	Began    wire.PID // the session in which one began that was started from the front end
	PGID     wire.PID
	SID      wire.PID
	User     wire.IDs
	Group    wire.IDs
	Status   wire.Status // of a zombie
	Stop     uint8       // the signal that has stopped it; 0: none
	Launched bool        // started from the front end
	Starting bool        // and its Spawned has not been told
	Unnamed  bool        // see process.unnamed
	Reaper   bool
	Zombie   bool
}

// known says what the front end knows of p when it has been told everything that was
// emitted so far. What events say of other things than traits is for Tell.
func (p *process) known() Known {
	k := Known{
		PID: p.pid, Birth: p.birth, PGID: p.front.pgid, SID: p.front.sid, User: p.front.user, Group: p.front.group,
		Launched: p.launched, Starting: p.starting, Unnamed: p.unnamed,
	}
	if !p.launched && p.family.ancestor != nil {
		k.Parent = p.family.ancestor.pid
	}
	return k
}

// Tell returns what is known of a process after an event, from what was known before
// and the state that came with the event; false: nothing, for it has gone.
func Tell(before, state Known, e *wire.Event) (Known, bool) {
	state.Status, state.Stop, state.Reaper, state.Zombie = before.Status, before.Stop, before.Reaper, before.Zombie
	if state.Launched {
		state.Parent, state.Began = before.Parent, before.Began
	}
	switch e.Kind {
	case wire.EventExited:
		return Known{}, false
	case wire.EventSpawned:
		if e.Stage != 0 || e.Errno != 0 {
			return Known{}, false
		}
		state.Starting = false
	case wire.EventForked:
		state.Status, state.Stop, state.Reaper, state.Zombie = 0, 0, false, false
	case wire.EventStopped:
		state.Stop = uint8(e.Status)
	case wire.EventContinued:
		state.Stop = 0
	case wire.EventReaper:
		state.Reaper = e.Status != 0
	case wire.EventZombie:
		state.Zombie, state.Status = true, e.Status
	default: // what it changes is in the state
	}
	return state, true
}

// States returns what is known of the processes of the events that Flush has just
// returned, after each of them.
func (t *Tracker) States() []Known { return t.flushed }

// Restore enters the processes that the front end knows, in a tracker without any. What
// has become of them since, the records tell that a former daemon has not released, and
// a look at each: Changed and User.
func (t *Tracker) Restore(all []Known) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Known) int { return int(a.PID - b.PID) })
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

func (t *Tracker) restore(k Known) {
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

// Starting reports whether a process is still to be started from the front end.
func (t *Tracker) Starting(pid wire.PID) bool {
	p := t.launched(pid)
	return p != nil && p.starting
}
