package procevents

import (
	"hash/maphash"
	"math/rand/v2"
	"time"

	"bproc/slave/core"
	"bproc/wire"
)

// DefaultHold is how long a birth is held back while the front end keeps up.
const DefaultHold = core.MinHold

// lostStatus is the status of a process whose end was not seen.
var lostStatus = wire.SignalStatus(9)

// Tracker turns the kernel's records and init's reports on the processes of a space into the events
// for the front end.
//
// Everything goes through one queue in the order in which it happened. Births leave it after the
// hold time. What happens to a process that has been reported is not held, and takes along what is
// before it. [Tracker.Flush] of all must be called before anything is let out that a process may
// have said, so that the front end learns of things in their order. A
// process that was born and died within the queue is not reported at all, unless a reported process
// needs it (a child that lives on, or a process of its group) or its parent has not waited for it.
//
//	born --+--> held ---(leaves the queue)---> announced --> dead, end held --> zombie --> gone
//	       |      |                                ^
//	       |      +--dies--> dead, unannounced --(is needed)
//	       |                    |
//	       |                    +--(not needed)--> dropped
//	       +-- by init: launched, announced at once; init reports its start and end
//
// The queue's order implies that Forked comes after the Forked or Spawned, and before the Exited,
// of the parent and of the maker. Exited comes once for each process with a Forked or a successful
// Spawned. A number is used again only after Exited.
//
// # Groups and sessions
//
// Their numbers are the same on both sides. A process that was started from the front end begins
// where its ghost is; all others inherit from their parents, as ghosts do by the front end's
// kernel. An event says only what that does not bring about: PGID and SID are 0 if nothing changes
// for the ghost. Otherwise SID is the process's own number: it has called setsid, and PGID is the
// same number. PGID alone is the number of the group that it has joined: its own, another process's
// that has a ghost in it, or one of the front end's own, below pidmap.Node, which the node could
// only join after the front end had been asked. Changes are seen at forks and execs, and when the
// daemon looks. Each is reported in its place (turns.go). With a Maker it is about a zombie that
// its parent has put into the group. A change that no ghost could repeat is left out: its group has
// no ghost in it, or is that of a ghost whose group or session has no number in the front end's PID
// namespace; for such a ghost the node has made one of its own. A ghost that could not leave its
// group for that reason cannot call setsid either.
//
// # Credentials
//
// A ghost inherits the credentials of its parent's ghost. User and Group are in an event only if
// they differ from the ghost's.
type Tracker struct {
	hold  time.Duration
	image func(wire.PID) (Image, bool)

	clock    time.Time // latest time given
	told     time.Time // see Told
	procs    map[wire.PID]*process
	parted   map[wire.PID][]*process // former owners of a number whose ends are not reported yet; oldest first
	groups   map[wire.PID]int        // ghosts in each group, by the node's number of it
	sessions map[wire.PID]int        // and in each session
	queue    queue
	seed     maphash.Seed
	births   uint64 // processes seen
	first    uint64 // number in wire.Event of the first of these, less one
	images   uint64 // command lines named

	events  []wire.Event
	states  []core.Known // of their processes, after each
	flushed []core.Known // of the events that Flush has returned
	next    uint64       // number of events[0]
	at      uint64       // position of the last record in its ring

	zombie    func(wire.PID) (ProcessInfo, bool) // see KeepZombies
	shorts    []*process                         // ended before their births were reported
	zombies   []*process                         // reported as zombies
	zombiesAt time.Time                          // when to look at them next

	slow   []*process // whose command lines could not be read in time; see slow.go
	slowAt time.Time  // when to read them again

	buried []*process // ended, with descendants that live; oldest first
	scan   *scan      // between BeginScan and Resync
}

// NewTracker returns a tracker without processes. image returns the present image of a process;
// false: the process is gone. It is called within Flush.
func NewTracker(hold time.Duration, image func(wire.PID) (Image, bool)) *Tracker {
	return &Tracker{
		hold:     hold,
		image:    image,
		procs:    make(map[wire.PID]*process),
		parted:   make(map[wire.PID][]*process),
		groups:   make(map[wire.PID]int),
		sessions: make(map[wire.PID]int),
		seed:     maphash.MakeSeed(),
		first:    rand.Uint64() >> 1, // a former tracker of the space has given other numbers
		next:     1,
	}
}

// Hold sets how long births are held back from now on, also those that are held already. What happens to
// processes that have been reported is held only for what exceeds DefaultHold: then the front end is behind.
func (t *Tracker) Hold(hold time.Duration) { t.hold = hold }

func (t *Tracker) holds() hold { return hold{urgent: max(0, t.hold-DefaultHold), others: t.hold} }

// Record takes in what the kernel noted, at the time at which it was read.
func (t *Tracker) Record(r Record, now time.Time) {
	t.advance(now)
	t.note(r)
}

func (t *Tracker) note(r Record) {
	switch r.Kind {
	case Forked:
		t.forked(r)
	case Execed:
		t.execed(r)
	case Exited:
		t.exited(r)
	case Stopped:
		t.halted(r)
	case Continued:
		t.resumed(r)
	case CursorLow, Stray, Filling:
		// Notices are not about what a process does.
	}
}

// Flush returns the events that are due, or everything that is held, too. Last of the result, even
// if there are no events, is the number of the last event so far: after a Flush of all, the number
// that marks the output of processes.
func (t *Tracker) Flush(all bool, now time.Time) wire.Events {
	t.advance(now)
	t.dropShorts()
	t.readSlow()
	if all {
		t.settle()
	}
	for {
		it, ok := t.queue.popDue(t.clock, t.holds())
		if !ok {
			break
		}
		t.told = it.since
		if !t.lingers(it) {
			t.tell(it)
		}
	}
	if all || !t.clock.Before(t.zombiesAt) {
		t.tellReaped()
	}
	out := wire.Events{First: t.next, Events: t.events}
	t.next += uint64(len(t.events))
	t.flushed = t.states
	t.events, t.states = nil, nil
	return out
}

// Next returns when the next event will be due, if anything is held.
func (t *Tracker) Next() (time.Time, bool) {
	at, ok := t.queue.next(t.holds())
	if len(t.zombies) > 0 && (!ok || t.zombiesAt.Before(at)) {
		at, ok = t.zombiesAt, true
	}
	if len(t.slow) > 0 && (!ok || t.slowAt.Before(at)) {
		at, ok = t.slowAt, true
	}
	return at, ok
}

// Renumber starts a new session, in which the events in again have the numbers from 1, and events
// that Flush returns from now on follow. Events that were not fetched by Flush belong to the old
// session and are lost with it, so fetch them first. [Tracker.Late] takes all other births of
// former sessions as handled by the front end.
func (t *Tracker) Renumber(again []wire.Event) {
	t.events, t.states, t.next = nil, nil, uint64(len(again))+1
	for _, p := range t.ghosts(nil) {
		p.told = 0
	}
	for _, p := range t.buried {
		p.told = 0
	}
	for i, e := range again {
		if e.Kind != wire.EventForked {
			continue
		}
		for _, p := range t.owners(e.PID) {
			if p.birth == e.Birth {
				p.told = uint64(i) + 1
			}
		}
	}
}

func (t *Tracker) advance(now time.Time) {
	if now.After(t.clock) {
		t.clock = now
	}
}

// Told returns a time after which nothing was taken in of a process that has been reported. What was
// taken in before may not have been reported.
func (t *Tracker) Told() time.Time { return t.told }

func (t *Tracker) push(p *process, what step) { t.enqueue(item{process: p, step: what}) }

// enqueue puts an item into the queue, to be reported soon if its process has been reported.
func (t *Tracker) enqueue(it item) {
	it.since, it.at = t.clock, t.at
	t.queue.push(it)
	if it.process.announced {
		t.queue.hurry()
	}
}

// emit adds e, an event of p; nil: of a process that never existed.
func (t *Tracker) emit(p *process, e wire.Event) {
	state := core.Known{PID: e.PID, Birth: e.Birth}
	if p != nil {
		state, e.Birth = p.known(), p.birth
	}
	t.events, t.states = append(t.events, e), append(t.states, state)
}

// Position sets the position in its ring of the record that is taken in next.
func (t *Tracker) Position(at uint64) { t.at = at }

// Oldest returns the position of the first record with an effect that has not been reported; false:
// there is none.
func (t *Tracker) Oldest() (at uint64, held bool) {
	if len(t.queue.items) == 0 {
		return 0, false
	}
	return t.queue.items[0].at, true
}

// number returns the number of the next event.
func (t *Tracker) number() uint64 { return t.next + uint64(len(t.events)) }

// settle reports everything that is held.
func (t *Tracker) settle() {
	t.told = t.clock
	for {
		it, ok := t.queue.pop()
		if !ok {
			return
		}
		t.tell(it)
	}
}

func (t *Tracker) tell(it item) {
	switch it.step {
	case birth:
		t.tellBirth(it.process)
	case change:
		if !t.behindKids(it.process) {
			t.tellChange(it.process)
		}
	case turn:
		t.tellTurn(it)
	case word:
		if !it.process.gone && it.process.announced { // else it has ended, and its birth was put off
			t.started(it.process)
			t.emit(it.process, it.event)
		}
	case end:
		it.process.ending = false
		switch {
		case it.process.gone, !it.process.announced:
		case t.turning(it.process):
		case t.stays(it.process):
			t.tellZombie(it.process)
		case t.behindMembers(it.process):
		default:
			t.tellEnd(it.process, wire.Event{Status: it.process.status})
		}
	}
}
