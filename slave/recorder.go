package slave

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

// recorder numbers what happens to the processes of the space and reports it.
type recorder struct {
	log    *slog.Logger
	source source
	proc   procevents.Proc
	out    outlet
	empty  func()              // records have been taken in, and their room given back
	life   func(wire.PID, int) // a process was born (1) or has died (-1)
	end    func(wire.PID) error
	watch  *watch
	behind *behind

	mu      sync.Mutex // guards the tracker, and with it the order of what is put into out
	tracker *procevents.Tracker
	now     time.Time // of what was taken in last
	lost    uint64
	ledger  *ledger
	started map[wire.PID]bool // from the front end, and their ends not told by init
}

// source is what a recorder needs of a procevents.Source.
type source interface {
	Wait(ctx context.Context) error
	Read(f func(r procevents.Record, at uint64))
	Position() uint64
	Release(at uint64)
	Seek(at uint64)
	Lost() uint64
}

// maxDrains bounds how often in a row it is looked who has been waited for. Of those who
// end meanwhile it is told later.
const maxDrains = 3

// takeLocked brings the tracker up to what has happened, to tell what is due, or
// everything. It reports whether anybody was seen to have changed.
func (r *recorder) takeLocked(all bool) (changes bool) {
	r.now = time.Now()
	r.watch.look(r.now)
	changes = r.drainLocked()
	for looks := 0; looks < maxDrains && r.tracker.Look(all, r.now); looks++ {
		changes = r.drainLocked() || changes
	}
	return changes
}

// drainLocked takes in what the kernel has noted and what was seen, each in its place.
func (r *recorder) drainLocked() (changes bool) {
	r.source.Read(func(rec procevents.Record, at uint64) {
		changes = r.observeLocked(at) || changes
		r.tracker.Position(at)
		switch rec.Kind {
		case procevents.Forked:
			r.life(rec.PID, 1)
		case procevents.Exited:
			r.life(rec.PID, -1)
		case procevents.Execed, procevents.Stopped, procevents.Continued:
		case procevents.CursorLow, procevents.Stray, procevents.Filling: // the warden's
		}
		r.tracker.Record(rec, r.now)
	})
	return r.observeLocked(r.source.Position()) || changes
}

// observeLocked takes in what was seen before a place in the kernel's records.
func (r *recorder) observeLocked(before uint64) (changes bool) {
	for _, s := range r.watch.take(before) {
		r.tracker.Position(s.at)
		r.tracker.Observe(s.is, r.now)
		changes = true
	}
	return changes
}

// tellLocked reports what is due, or everything, and returns the number of the
// last event so far.
func (r *recorder) tellLocked(all bool) uint64 {
	r.tracker.Hold(r.behind.hold())
	events := r.tracker.Flush(all, r.now)
	position, held := r.tracker.Oldest()
	if !held {
		position = r.source.Position()
	}
	if len(events.Events) > 0 {
		r.keptLocked(r.ledger.tell(events.Events, r.tracker.States(), position))
		r.putLocked(events)
	}
	r.source.Release(position)
	r.empty()
	r.behind.told(events.Last())
	return events.Last()
}

// keptLocked is for the answer of the ledger.
func (r *recorder) keptLocked(err error) {
	if err != nil {
		r.log.Error("should this daemon die, the next cannot tell the front end all that happened", "err", err)
	}
}

// putLocked has events sent.
func (r *recorder) putLocked(events wire.Events) {
	for len(events.Events) > 0 {
		n := atOnce(events.Events)
		if err := r.out.put(&wire.Events{First: events.First, Events: events.Events[:n]}); err != nil {
			r.log.Error("events could not be reported", "err", err)
		}
		events.First, events.Events = events.First+uint64(n), events.Events[n:]
	}
}

// progress takes in that the front end has caught up with an event.
func (r *recorder) progress(event uint64) {
	r.mu.Lock()
	err := r.ledger.confirm(event)
	r.mu.Unlock()
	if err != nil {
		r.log.Error("init could not be told which ends the front end knows", "err", err)
	}
	r.behind.progress(event)
}

// Bounds of one message: on its events, and on what their command lines take where they are
// decoded, which is much more than on the wire if there are many empty arguments.
const (
	maxEvents    = 60
	maxArguments = 960 << 10 // bytes
	argumentSize = 16        // of an empty argument
)

// atOnce returns how many of some events go into one message: one at least, with a command
// line of 64 KiB at most (procevents).
func atOnce(events []wire.Event) int {
	size := 0
	for i := range events {
		for _, arg := range events[i].Argv {
			size += argumentSize + len(arg)
		}
		if i > 0 && (i == maxEvents || size > maxArguments) {
			return i
		}
	}
	return len(events)
}

// stamp returns the number of the last event before now. Whoever has just read
// what a process said marks it with that.
func (r *recorder) stamp() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	return r.tellLocked(true)
}

// relook tells of those who are watched and have changed.
func (r *recorder) relook() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.takeLocked(true) {
		r.tellLocked(true)
	}
}

// do lets f tell the tracker of something, after everything that was before.
func (r *recorder) do(f func(*procevents.Tracker)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	f(r.tracker)
	r.tellLocked(true)
}

// launching must be called before init is asked to start a process.
func (r *recorder) launching(spawn *wire.Spawn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keptLocked(r.ledger.launching(r.tracker.Launching(spawn)))
}

// unasked is for a process that init was not asked for, and reports whether there is
// none. The front end is not told: it asks once more when the inventory lacks it.
func (r *recorder) unasked(pid wire.PID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	if !r.tracker.Unasked(pid) {
		return false
	}
	r.keptLocked(r.ledger.unasked(pid))
	return true
}

// reparent says that a process has another parent on the front end.
func (r *recorder) reparent(pid, parent wire.PID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keptLocked(r.ledger.reparent(pid, parent))
}

// leased says which numbers are on lease.
func (r *recorder) leased(blocks []wire.Block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keptLocked(r.ledger.lease(blocks))
}

// starting reports whether a process is still to be started.
func (r *recorder) starting(pid wire.PID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tracker.Starting(pid)
}

func (r *recorder) spawned(pid wire.PID) {
	r.do(func(t *procevents.Tracker) {
		r.started[pid] = true
		t.Spawned(pid)
	})
}

// knows reports whether there are processes that the front end knows, or will.
func (r *recorder) knows() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ledger.now()) > 0
}

// quiet reports whether the ends of all processes that were started from the
// front end have been told.
func (r *recorder) quiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.started) == 0
}

func (r *recorder) notSpawned(pid wire.PID, launch uint64, stage wire.Stage, errno unix.Errno) {
	r.do(func(t *procevents.Tracker) { t.SpawnFailed(pid, launch, stage, uint32(errno)) })
}

// status takes in what wait4(2) told init of one of its children, and reports whether
// that is the end of one that was started from the front end.
func (r *recorder) status(pid wire.PID, status wire.Status) (ended bool) {
	r.do(func(t *procevents.Tracker) {
		if ws := unix.WaitStatus(status); !ws.Continued() && !ws.Stopped() { // these the kernel's records tell
			ended = r.started[pid]
			delete(r.started, pid)
			t.Ended(pid, status)
		}
	})
	return ended
}

// late returns those who were born so late that a signal to a group, which their
// ancestor pid got, has missed their ghosts.
func (r *recorder) late(pid wire.PID, seen uint64) []wire.PID {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	return r.tracker.Late(pid, seen)
}

// meant reports whether a number, if it is in use, is still that of whom the front end
// knew by it when it had handled the event seen.
func (r *recorder) meant(pid wire.PID, seen uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	return r.tracker.Meant(pid, seen)
}

// offspring returns the process whose birth was told as an event, and those who
// descend from it, as long as they live and are in its group.
func (r *recorder) offspring(pid wire.PID, birth uint64) []procevents.Born {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	return r.tracker.Offspring(pid, birth)
}

// resume goes on with processes of which a former daemon has told, and the kernel's
// records from a position on.
func (r *recorder) resume(all []procevents.Known, position uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tracker.Restore(all)
	for _, k := range all {
		if k.Launched && !k.Starting {
			r.started[k.PID] = true
		}
	}
	r.source.Seek(position)
}

// lookAtAll finds out what has become of processes while there was no daemon that the
// kernel does not note.
func (r *recorder) lookAtAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tracker.BeginScan()
	seen, err := r.proc.Scan()
	if err != nil {
		r.log.Error("processes could not be looked at", "err", err)
	}
	r.takeLocked(true)
	r.tracker.EndScan(seen)
	for _, p := range seen {
		if leads(&p) {
			_ = r.watch.led(p.SID, p.PGID) // an error is one of a space that is about to end
		}
	}
	r.tellLocked(true)
}

// begin starts the numbers anew for a new control stream, whose first message is the
// inventory. What the front end has not confirmed is told again after it.
func (r *recorder) begin(inventory func() *wire.Inventory) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	r.tellLocked(true)
	inv := inventory()
	again := r.ledger.begin(inv)
	r.tracker.Renumber(again)
	if err := r.out.start(inv); err != nil {
		return err
	}
	r.behind.begin()
	if len(again) > 0 {
		r.putLocked(wire.Events{First: 1, Events: again})
	}
	r.behind.told(inv.Again)
	return nil
}

// maxRound is after how long it is looked again whether anything is due: the front end may
// have caught up, so that less is held back.
const maxRound = 20 * time.Millisecond

// run reports what the kernel notes, a little later than it happens.
func (r *recorder) run(ctx context.Context) error {
	for {
		if err := r.source.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for {
			next, held := r.round()
			if !held {
				break
			}
			select {
			case <-time.After(min(time.Until(next), maxRound)):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// round takes in what there is and tells what is due. It returns when more will
// be.
func (r *recorder) round() (next time.Time, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	r.repairLocked()
	r.tellLocked(false)
	return r.tracker.Next()
}

// repairLocked makes up for records that found no room in the ring.
func (r *recorder) repairLocked() {
	lost := r.source.Lost()
	if lost == r.lost {
		return
	}
	r.log.Warn("process records were lost; all processes are looked at", "count", lost-r.lost)
	r.tracker.BeginScan()
	seen, err := r.proc.Scan()
	if err != nil {
		r.log.Error("processes could not be looked at", "err", err)
		r.tracker.EndScan(nil)
		return // the next round tries again
	}
	r.lost = lost
	r.takeLocked(false)
	for _, pid := range r.tracker.Resync(seen) {
		r.log.Error("a process has no place in the front end's tree; it is killed", "pid", pid)
		r.kill(pid)
	}
}

// kill ends a process by its number in the space.
func (r *recorder) kill(pid wire.PID) {
	if err := r.end(pid); err != nil && !errors.Is(err, unix.ESRCH) {
		r.log.Error("a process could not be killed", "pid", pid, "err", err)
	}
}
