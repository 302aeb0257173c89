package slave

import (
	"maps"
	"slices"

	"bproc/wire"
)

// ledger knows what the front end certainly knows of the processes of this node, and
// what it was told besides: that is told again in the next session.
type ledger struct {
	known map[wire.PID]bool // the processes that it knows, and whether they are still to be started
	told  []wire.Event      // what it has not confirmed
	first uint64            // number of the first of told in this session
}

func newLedger() *ledger { return &ledger{known: make(map[wire.PID]bool), first: 1} }

// launching enters a process that the front end has asked for.
func (l *ledger) launching(pid wire.PID) { l.known[pid] = true }

// tell enters events that are being told.
func (l *ledger) tell(events []wire.Event) { l.told = append(l.told, events...) }

// confirm takes in that the front end has come to an event. Numbers are those of this
// session.
func (l *ledger) confirm(event uint64) {
	if event < l.first {
		return
	}
	n := min(int(event-l.first)+1, len(l.told))
	for i := range l.told[:n] {
		l.apply(&l.told[i])
	}
	clear(l.told[:n])
	l.told, l.first = l.told[n:], l.first+uint64(n)
}

// apply takes in what a confirmed event says.
func (l *ledger) apply(e *wire.Event) {
	switch {
	case e.Kind == wire.EventForked, e.Kind == wire.EventSpawned && e.Errno == 0 && e.Stage == 0:
		l.known[e.PID] = false
	case e.Kind == wire.EventExited, e.Kind == wire.EventSpawned:
		delete(l.known, e.PID)
	}
}

// begin begins a session. It returns the processes that the front end knows, those of
// them that are still to be started, and the events that it is to be told again, which
// have the numbers from 1 now.
func (l *ledger) begin() (pids, starting []wire.PID, again []wire.Event) {
	for pid, is := range l.known {
		pids = append(pids, pid)
		if is {
			starting = append(starting, pid)
		}
	}
	slices.Sort(pids)
	slices.Sort(starting)
	l.first = 1
	return pids, starting, slices.Clone(l.told)
}

// processes returns how many the front end knows, or will know by what it was told.
func (l *ledger) processes() int {
	known := maps.Clone(l.known)
	later := ledger{known: known}
	for i := range l.told {
		later.apply(&l.told[i])
	}
	return len(known)
}
