package core

import "bproc/wire"

// Known is what the front end knows of a process from the reported events: the state of its ghost.
type Known struct {
	PID      wire.PID
	Birth    uint64   // as in wire.Event
	Parent   wire.PID // the process that made it; of a launched process, its parent on the front end
	Began    wire.PID // the session in which a launched process began
	PGID     wire.PID
	SID      wire.PID
	User     wire.IDs
	Group    wire.IDs
	Status   wire.Status // of a zombie
	Stop     uint8       // the signal that has stopped it; 0: none
	Launched bool        // started from the front end
	Starting bool        // launched, and its Spawned has not been reported
	Unnamed  bool        // its group or session has no number on this node
	Reaper   bool
	Zombie   bool
}

// after returns what is known of a process after an event, from what was known before and the state
// that came with the event. It returns false if the process has gone.
func after(before, state Known, e *wire.Event) (Known, bool) {
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
	default: // its changes are in the state
	}
	return state, true
}

// apply lets an event take effect on what is known. It reports whether a process that was started
// from the front end has ended, or could not be started.
func apply(known map[wire.PID]Known, state Known, e *wire.Event) (over bool) {
	before, was := known[e.PID]
	if was && e.Kind != wire.EventForked && before.Birth != state.Birth {
		return false // the number has passed to another process
	}
	next, is := after(before, state, e)
	if !is {
		delete(known, e.PID)
		return was && before.Launched || e.Kind == wire.EventSpawned
	}
	known[e.PID] = next
	return false
}
