package slave

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/wire"
)

// recorder takes in what happens to the processes of the space, and has the core report what is
// worth reporting.
type recorder struct {
	log    *slog.Logger
	source source
	proc   procevents.Proc
	state  *state
	empty  func()              // called when records have been taken in and their room given back
	life   func(wire.PID, int) // a process was born (1) or has died (-1)
	end    func(wire.PID) error
	watch  *watch
	madeUp func(lost uint64) // keeps for the next daemon that so many lost records have been made up for

	asked atomic.Uint64 // calls of stamp

	mu      sync.Mutex // guards the tracker, and with it the order of reports
	served  uint64     // calls of stamp that had come before the last look for one began
	stamped uint64     // what that look found: the number of the last event
	tracker *procevents.Tracker
	now     time.Time // when something was last taken in
	lost    uint64    // records that have been made up for
	kept    uint64    // lost, as last given to madeUp
}

// source is what a recorder needs of a procevents.Source.
type source interface {
	Wait(ctx context.Context, until time.Time) error
	Wake()
	Read(f func(r procevents.Record, at uint64))
	Position() uint64
	Release(at uint64)
	Seek(at uint64)
	Lost() uint64
	Told(at time.Time)
}

// maxDrains bounds how often in a row takeLocked looks for zombies that have been waited for. Ends
// that come meanwhile are reported later.
const maxDrains = 3

// takeLocked brings the tracker up to date, for a report of what is due or of everything. It
// reports whether it saw a change of a process.
func (r *recorder) takeLocked(all bool) (changes bool) {
	r.now = time.Now()
	r.watch.look(r.now)
	changes = r.drainLocked()
	for looks := 0; looks < maxDrains && r.tracker.Look(all, r.now); looks++ {
		changes = r.drainLocked() || changes
	}
	return changes
}

// drainLocked takes in the kernel's records and the changes that were seen, each in its place.
func (r *recorder) drainLocked() (changes bool) {
	read := false
	r.source.Read(func(rec procevents.Record, at uint64) {
		if !read {
			read, r.now = true, time.Now() // not before the start of any of them, see Told
		}
		changes = r.observeLocked(at) || changes
		r.tracker.Position(at)
		switch rec.Kind {
		case procevents.Forked:
			r.life(rec.PID, 1)
		case procevents.Exited:
			r.life(rec.PID, -1)
		case procevents.Execed:
			r.watch.executed(rec.PID, at)
		case procevents.Stopped, procevents.Continued:
		case procevents.CursorLow, procevents.Stray, procevents.Filling: // the warden's
		}
		r.tracker.Record(rec, r.now)
	})
	return r.observeLocked(r.source.Position()) || changes
}

// observeLocked takes in the changes that were seen before a position in the kernel's records.
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
	r.tracker.Hold(r.state.holdBack())
	events := r.tracker.Flush(all, r.now)
	r.source.Told(r.tracker.Told())
	position, held := r.tracker.Oldest()
	if !held {
		position = r.source.Position()
	}
	r.state.step(core.Told{Events: events, States: r.tracker.States(), Position: position})
	r.source.Release(position)
	if !held && r.kept != r.lost { // what was found has been reported
		r.kept = r.lost
		r.madeUp(r.lost)
	}
	r.empty()
	return events.Last()
}

// tellAllLocked is tellLocked for everything. A zombie stays: run must look at it, and may be waiting for a
// record that was taken in here.
func (r *recorder) tellAllLocked() uint64 {
	last := r.tellLocked(true)
	if _, held := r.tracker.Next(); held {
		r.source.Wake()
	}
	return last
}

// stamp returns the number of the last event before now. A caller that has just read output of a
// process marks the output with it. Callers that wait for each other's looks are served together by
// the next: a look takes long where many processes are watched.
func (r *recorder) stamp() uint64 {
	mine := r.asked.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.served >= mine {
		return r.stamped
	}
	served := r.asked.Load()
	r.takeLocked(true)
	r.served, r.stamped = served, r.tellAllLocked()
	return r.stamped
}

// relook reports changes of watched processes.
func (r *recorder) relook() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.takeLocked(true) {
		r.tellAllLocked()
	} else {
		r.hurryLocked()
	}
}

// do calls f with the tracker, after everything that happened before.
func (r *recorder) do(f func(*procevents.Tracker)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	f(r.tracker)
	r.tellAllLocked()
}

// launch takes in a process that the front end asks for in a session. It reports whether init must
// be asked for it. If so, it first calls enter, before there can be another inventory.
func (r *recorder) launch(session core.Session, spawn *wire.Spawn, enter func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.state.launch(session, spawn) {
		return false
	}
	enter()
	return true
}

// refuse reports that a process that the front end asks for in a session cannot be started. If the
// session has ended, it reports nothing: the front end asks again in the next.
func (r *recorder) refuse(session core.Session, spawn *wire.Spawn, errno unix.Errno) {
	r.do(func(t *procevents.Tracker) {
		present := false
		r.state.look(func(c *core.Core) { present = c.Session() == session })
		if present {
			t.SpawnFailed(spawn.PID, spawn.Launch, wire.StageSpawn, uint32(errno))
		}
	})
}

// unasked takes in that init was not asked for a process, and reports whether there is no such
// process. The front end is not told: it asks again when the inventory lacks the process.
func (r *recorder) unasked(pid wire.PID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	r.hurryLocked()
	if !r.tracker.Unasked(pid) {
		return false
	}
	r.state.step(core.Unasked{PID: pid})
	return true
}

// starting reports whether a process has yet to be started.
func (r *recorder) starting(pid wire.PID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tracker.Starting(pid)
}

func (r *recorder) spawned(pid wire.PID) {
	r.do(func(t *procevents.Tracker) {
		r.state.step(core.Spawned{PID: pid})
		t.Spawned(pid)
	})
}

func (r *recorder) notSpawned(pid wire.PID, launch uint64, stage wire.Stage, errno unix.Errno) {
	r.do(func(t *procevents.Tracker) { t.SpawnFailed(pid, launch, stage, uint32(errno)) })
}

// status takes in what wait4(2) returned to init for one of its children. It reports whether a
// process that was started from the front end has ended.
func (r *recorder) status(m *wire.InitStatus) (ended bool) {
	r.do(func(t *procevents.Tracker) {
		if ws := unix.WaitStatus(m.Status); !ws.Continued() && !ws.Stopped() { // the kernel's records report these
			r.state.look(func(c *core.Core) { ended = c.IsLaunched(m.PID) })
			r.state.step(core.Reaped{PID: m.PID})
			t.Ended(m)
		}
	})
	return ended
}

// signal takes a signal of the front end.
func (r *recorder) signal(m *wire.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	in := core.Signal{Signal: m, Meant: r.tracker.Meant(m.PID, m.Seen)}
	if m.Group {
		in.Late = r.tracker.Late(m.PID, m.Seen, senderOf(m.Info))
	}
	r.state.step(in)
	r.hurryLocked()
}

// senderOf returns the user who has sent a signal; root: it may also be the kernel.
func senderOf(info []byte) (uid uint32) {
	const siUser, offCode, offUID = 0, 8, 20 // sigaction(2), on 64-bit machines
	if len(info) < wire.SizeofSiginfo || binary.LittleEndian.Uint32(info[offCode:]) != siUser {
		return 0
	}
	return binary.LittleEndian.Uint32(info[offUID:])
}

// hurryLocked has run report what is due. It may be waiting for a record that was taken in here.
func (r *recorder) hurryLocked() {
	if next, held := r.tracker.Next(); held && !next.After(r.now) {
		r.source.Wake()
	}
}

// late returns, for each process, the living processes that descend from it and are in its group,
// and the process itself.
func (r *recorder) late(of []core.Pursued) (late [][]core.Born) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	for _, p := range of {
		late = append(late, r.tracker.Offspring(p.PID, p.Event))
	}
	r.hurryLocked()
	return late
}

// resume goes on with the processes that a former daemon has reported, and with the kernel's
// records from a position on.
func (r *recorder) resume(all []core.Known, position uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tracker.Restore(all)
	r.source.Seek(position)
}

// lookAtAll finds changes of processes that the kernel does not note and that happened while there
// was no daemon.
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
			_ = r.watch.led(p.SID, p.PGID) // fails only if the space is about to end
		}
	}
	r.tellAllLocked()
}

// begin begins a session.
func (r *recorder) begin(session core.Session, inventory func() wire.Inventory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(true)
	r.tellAllLocked()
	r.state.step(core.SessionUp{Session: session, Inventory: inventory()})
}

// maxRound is the longest time until run checks again whether anything is due: the front end may
// have caught up, so that less is held back.
const maxRound = core.MinHold

// run reports what the kernel notes, a little later than it happens.
func (r *recorder) run(ctx context.Context) error {
	var until time.Time
	for {
		if err := r.source.Wait(ctx, until); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		until = r.round()
	}
}

// round takes in what is there and reports what is due. It returns when the next round is due; the
// zero time: nothing is held.
func (r *recorder) round() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLocked(false)
	r.repairLocked()
	r.tellLocked(false)
	next, held := r.tracker.Next()
	if latest := r.now.Add(maxRound); held && next.After(latest) {
		return latest
	}
	return next
}

// repairLocked makes up for records that were lost because the ring was full.
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
