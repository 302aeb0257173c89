package slave

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"bproc/slave/journal"
	"bproc/slave/procevents"
	"bproc/wire"
)

// ledger knows what the front end certainly knows of the processes of this node, and
// what it was told besides: that is told again in the next session. It is kept in the
// journal, with the numbers that the node has on lease, for the next daemon.
type ledger struct {
	log    *journal.Log
	forget func(pids ...wire.PID) error // launched processes of whose end the front end knows

	known     map[wire.PID]procevents.Known
	told      []wire.Event // what it has not confirmed
	states    []procevents.Known
	first     uint64 // number of the first of told, on the control stream there is
	confirmed uint64 // events since the log was written anew
	blocks    []wire.Block
	position  uint64 // in the kernel's ring: all records before led to nothing, or to what was told
}

func newLedger(log *journal.Log, forget func(pids ...wire.PID) error) *ledger {
	return &ledger{log: log, forget: forget, known: make(map[wire.PID]procevents.Known), first: 1}
}

// launching enters a process that the front end has asked for.
func (l *ledger) launching(k procevents.Known) error {
	l.known[k.PID] = k
	if err := l.log.Append(recordKnown, appendKnown(nil, &k)); err != nil {
		return err
	}
	return l.commit()
}

// unasked takes a process out that the front end has asked for, and that nobody was asked
// to start.
func (l *ledger) unasked(pid wire.PID) error {
	delete(l.known, pid)
	if err := l.log.Append(recordUnasked, binary.NativeEndian.AppendUint32(nil, uint32(pid))); err != nil {
		return err
	}
	return l.commit()
}

// reparent enters the parent that a launched process has on the front end now.
func (l *ledger) reparent(pid, parent wire.PID) error {
	k, ok := l.known[pid]
	if !ok || !k.Launched {
		return nil
	}
	k.Parent = parent
	return l.launching(k)
}

// lease enters the numbers that are on lease.
func (l *ledger) lease(blocks []wire.Block) error {
	l.blocks = slices.Clone(blocks)
	if err := l.log.Append(recordBlocks, appendBlocks(nil, l.blocks)); err != nil {
		return err
	}
	return l.commit()
}

// tell enters events that are about to be told, with what is known after each of its
// process, and the position up to which the kernel's records have led to nothing else.
func (l *ledger) tell(events []wire.Event, states []procevents.Known, position uint64) error {
	l.told, l.states, l.position = append(l.told, events...), append(l.states, states...), position
	if err := logEvents(l.log.Append, events, states, position); err != nil {
		return err
	}
	return l.commit()
}

// commit makes what was appended hold.
func (l *ledger) commit() error {
	if !l.log.Grown() {
		l.log.Commit()
		return nil
	}
	err := l.log.Rewrite(func(add appender) error {
		all := make([]byte, 0, len(l.known)*knownSize)
		for _, k := range l.known {
			all = appendKnown(all, &k)
		}
		if err := add(recordKnown, all); err != nil {
			return err
		}
		if err := add(recordBlocks, appendBlocks(nil, l.blocks)); err != nil {
			return err
		}
		return logEvents(add, l.told, l.states, l.position)
	})
	if err == nil {
		l.confirmed = 0
	}
	return err
}

// confirm takes in that the front end has come to an event. Numbers are those of this
// session.
func (l *ledger) confirm(event uint64) error {
	if event < l.first {
		return nil
	}
	n := min(int(event-l.first)+1, len(l.told))
	var ended []wire.PID
	for i := range l.told[:n] {
		e := &l.told[i]
		if apply(l.known, l.states[i], e) && e.Kind != wire.EventForked {
			ended = append(ended, e.PID)
		}
	}
	clear(l.told[:n])
	l.told, l.states = l.told[n:], l.states[n:]
	l.first += uint64(n)
	l.confirmed += uint64(n)
	l.log.Confirm(l.confirmed)
	if len(ended) == 0 {
		return nil
	}
	return l.forget(ended...)
}

// apply takes in what an event says, and reports whether it is the end of a process
// that was started from the front end, or that it could not be.
func apply(known map[wire.PID]procevents.Known, state procevents.Known, e *wire.Event) (over bool) {
	before, was := known[e.PID]
	if was && e.Kind != wire.EventForked && before.Birth != state.Birth {
		return false // the number has been given to another one
	}
	after, is := procevents.Tell(before, state, e)
	if !is {
		delete(known, e.PID)
		return was && before.Launched || e.Kind == wire.EventSpawned
	}
	known[e.PID] = after
	return false
}

// begin begins a session. It enters the processes that the front end knows in the
// inventory, and returns the events that it is to be told again, which have the numbers
// from 1 now.
func (l *ledger) begin(inv *wire.Inventory) (again []wire.Event) {
	inv.PIDs = slices.Sorted(maps.Keys(l.known))
	for _, pid := range inv.PIDs {
		k, parent := l.known[pid], wire.PID(0)
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
	l.first, inv.Again = 1, uint64(len(l.told))
	return slices.Clone(l.told)
}

// now returns the processes that the front end knows, or will know by what it was told.
func (l *ledger) now() map[wire.PID]procevents.Known {
	known := maps.Clone(l.known)
	for i := range l.told {
		apply(known, l.states[i], &l.told[i])
	}
	return known
}

// resume takes in what a former daemon has left in the log. Whatever is confirmed takes
// effect in its place among what else is known.
func (l *ledger) resume() error {
	forget, ended, confirmed := l.forget, []wire.PID(nil), l.log.Confirmed()
	l.forget = func(pids ...wire.PID) error { ended = append(ended, pids...); return nil }
	defer func() { l.forget = forget }()
	err := l.log.Replay(func(kind uint32, payload []byte) error {
		if err := l.replay(kind, payload); err != nil {
			return err
		}
		if l.confirmed < confirmed && len(l.told) > 0 {
			l.first = 1
			return l.confirm(confirmed - l.confirmed)
		}
		return nil
	})
	if err == nil && l.confirmed != confirmed {
		err = fmt.Errorf("%w: %d events of %d are confirmed", journal.ErrCorrupt, confirmed, l.confirmed)
	}
	if err != nil {
		return fmt.Errorf("what the front end was told: %w", err)
	}
	now := l.now()
	ended = slices.DeleteFunc(ended, func(pid wire.PID) bool { _, is := now[pid]; return is })
	if len(ended) == 0 {
		return nil
	}
	return forget(ended...)
}
