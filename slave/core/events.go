package core

import (
	"cmp"
	"maps"
	"slices"

	"bproc/wire"
)

// events are what the front end certainly knows of the processes of this node, and the events that
// were reported besides. The latter are reported again in the next session. All of it is in the
// journal, for the next daemon.
type events struct {
	known     map[wire.PID]Known
	told      []wire.Event // events that the front end has not confirmed
	states    []Known      // states of their processes, after each event
	arguments int          // memory of their command lines, in bytes
	first     uint64       // number of told[0] in the present session
	confirmed uint64       // events confirmed since the journal was written anew
	blocks    []wire.Block // blocks of this node
	position  uint64       // in the kernel's ring: all records before it led to nothing, or were reported
}

// tell enters events in the journal and sends them.
func (c *Core) tell(in Told) {
	e, all := &c.events, in.Events.Events
	if len(all) > 0 {
		e.keep(all, in.Position)
		e.states = append(e.states, in.States...)
		c.appendEvents(all, in.States, in.Position)
		c.sayEvents(in.Events)
		for i := range all {
			if all[i].Kind == wire.EventExited {
				c.signals.given.Forget(all[i].PID)
			}
		}
	}
	c.toldUpTo(in.Events.Last())
}

// Bounds of one message: on its events, and on the memory for their decoded command lines, which is
// much more than on the wire if there are many empty arguments.
const (
	maxEvents    = 60
	maxArguments = 960 << 10 // bytes
	argumentSize = 16        // of an empty argument
)

// atOnce returns how many of the events go into one message: at least one, with a command line of
// at most 64 KiB (procevents).
func atOnce(events []wire.Event) int {
	size := 0
	for i := range events {
		size += argumentsOf(&events[i])
		if i > 0 && (i == maxEvents || size > maxArguments) {
			return i
		}
	}
	return len(events)
}

// argumentsOf returns the memory that the command line of an event takes, in bytes.
func argumentsOf(e *wire.Event) (size int) {
	for _, arg := range e.Argv {
		size += argumentSize + len(arg)
	}
	return size
}

// keep keeps events until the front end confirms them.
func (e *events) keep(all []wire.Event, position uint64) {
	for i := range all {
		e.arguments += argumentsOf(&all[i])
	}
	e.told, e.position = append(e.told, all...), position
}

func (c *Core) sayEvents(e wire.Events) {
	for len(e.Events) > 0 {
		n := atOnce(e.Events)
		c.say(0, &wire.Events{First: e.First, Events: e.Events[:n]})
		e.First, e.Events = e.First+uint64(n), e.Events[n:]
	}
}

// confirm takes in that the front end is done with the events of this session up to one.
func (c *Core) confirm(event uint64) {
	e := &c.events
	if event < e.first {
		return
	}
	ended := e.confirm(min(event-e.first+1, uint64(len(e.told))))
	c.emit(Confirm{e.confirmed})
	if len(ended) > 0 {
		c.emit(Forget{ended})
	}
}

// confirm lets the first n events take effect on what is known. It returns the launched processes
// whose end the front end knows.
func (e *events) confirm(n uint64) (ended []wire.PID) {
	for i := range e.told[:n] {
		event := &e.told[i]
		e.arguments -= argumentsOf(event)
		if apply(e.known, e.states[i], event) && event.Kind != wire.EventForked {
			ended = append(ended, event.PID)
		}
	}
	clear(e.told[:n])
	e.told, e.states = e.told[n:], e.states[n:]
	e.first += n
	e.confirmed += n
	return ended
}

// tellsEnd reports whether the end of a process with a number was reported and the front end has
// not confirmed it.
func (e *events) tellsEnd(pid wire.PID) bool {
	return slices.ContainsFunc(e.told, func(t wire.Event) bool {
		return t.PID == pid && (t.Kind == wire.EventExited || t.Kind == wire.EventSpawned && t.Errno != 0)
	})
}

// list puts the processes that the front end knows into an inventory.
func (e *events) list(inv *wire.Inventory) {
	inv.PIDs = slices.Sorted(maps.Keys(e.known))
	for _, pid := range inv.PIDs {
		k, parent := e.known[pid], wire.PID(0)
		if k.Starting {
			inv.Starting = append(inv.Starting, pid)
		}
		if k.Launched {
			parent = k.Parent
		}
		if k.Stop != 0 {
			inv.Stopped = append(inv.Stopped, pid)
		}
		inv.Births, inv.Parents = append(inv.Births, k.Birth), append(inv.Parents, parent)
	}
	inv.Again = uint64(len(e.told))
}

// again returns the events that the front end has not confirmed. A birth that is reported again names the
// credentials if the maker has changed its own since: the ghost that is to bear may have done so, too.
func (e *events) again() []wire.Event {
	again := slices.Clone(e.told)
	changed := make(map[wire.PID]bool)
	for i := len(again) - 1; i >= 0; i-- {
		event := &again[i]
		if event.Kind == wire.EventForked || event.Kind == wire.EventSpawned {
			delete(changed, event.PID)
		} else if event.User != nil || event.Group != nil {
			changed[event.PID] = true
		}
		if event.Kind == wire.EventForked && changed[cmp.Or(event.Maker, event.Parent)] {
			event.User, event.Group = &e.states[i].User, &e.states[i].Group
		}
	}
	return again
}

// now returns the processes that the front end knows, or will know from the reported events.
func (e *events) now() map[wire.PID]Known {
	known := maps.Clone(e.known)
	for i := range e.told {
		apply(known, e.states[i], &e.told[i])
	}
	return known
}

// Known returns the processes that the front end knows, or will know from the reported events.
func (c *Core) Known() map[wire.PID]Known { return c.events.now() }

// Position returns the position in the kernel's ring before which all records led to nothing, or
// were reported.
func (c *Core) Position() uint64 { return c.events.position }

// Blocks returns the blocks of this node.
func (c *Core) Blocks() []wire.Block { return slices.Clone(c.events.blocks) }

// Last returns the number of the last event reported.
func (c *Core) Last() uint64 { return c.backlog.last }
