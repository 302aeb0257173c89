package procevents_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bproc/slave/procevents"
	"bproc/wire"
)

// The model: a made-up kernel in which processes fork, execute, change groups and
// end at random, and a made-up front end which obeys events as its kernel would,
// refusing what cannot be. The tracker is between them.

type task struct {
	pid, parent, pgid, sid wire.PID
	root                   wire.PID // the process started from the front end
	argv                   string
	launched, odd          bool // odd: parent and creator differ, so its session can be another than its parent's
	ledGroup               bool
	heard                  time.Time // when the record of its birth was drained
}

type kernel struct {
	rng      *rand.Rand
	tasks    map[wire.PID]*task
	order    []wire.PID
	next     wire.PID
	launched wire.PID // the last number of the front end's zone
	images   int
	records  []procevents.Record
	ends     map[wire.PID]wire.Status // of processes started from the front end
}

func (k *kernel) pick() *task { return k.tasks[k.order[k.rng.IntN(len(k.order))]] }

func (k *kernel) add(p *task) {
	k.tasks[p.pid] = p
	k.order = append(k.order, p.pid)
}

func (k *kernel) fork(creator *task) {
	k.next++
	child := *creator
	child.pid, child.parent, child.launched, child.ledGroup, child.heard = k.next, creator.pid, false, false, time.Time{}
	if k.rng.IntN(10) == 0 { // CLONE_PARENT
		child.parent, child.odd = creator.parent, true
	}
	k.add(&child)
	k.records = append(k.records, procevents.Record{
		Kind: procevents.Forked, PID: child.pid, Parent: child.parent, Creator: creator.pid, PGID: child.pgid, SID: child.sid,
	})
}

func (k *kernel) exec(p *task) {
	k.images++
	p.argv = fmt.Sprint("image ", k.images)
	k.records = append(k.records, procevents.Record{Kind: procevents.Execed, PID: p.pid, PGID: p.pgid, SID: p.sid})
}

// regroup changes a group or session, then executes, so that it is seen.
func (k *kernel) regroup(p *task) {
	if p.sid == p.pid || p.launched {
		return
	}
	switch k.rng.IntN(3) {
	case 0:
		p.pgid, p.ledGroup = p.pid, true
	case 1:
		if p.ledGroup {
			return
		}
		p.pgid, p.sid = p.pid, p.pid
	case 2:
		other := k.pick()
		if other.sid != p.sid || other.root != p.root || other.odd != p.odd || p.ledGroup {
			return // a leader who goes before anybody has heard of the group is not followed
		}
		p.pgid = other.pgid
	}
	k.exec(p)
}

func (k *kernel) exit(p *task) {
	delete(k.tasks, p.pid)
	for i, pid := range k.order {
		if pid == p.pid {
			k.order = append(k.order[:i], k.order[i+1:]...)
			break
		}
	}
	for _, child := range k.tasks {
		if child.parent == p.pid {
			child.parent = 1
		}
	}
	status := wire.ExitStatus(k.rng.IntN(256))
	if p.launched {
		k.ends[p.pid] = status
		return
	}
	for range 1 + k.rng.IntN(20)/19 {
		k.records = append(k.records, procevents.Record{Kind: procevents.Exited, PID: p.pid, Status: status})
	}
}

type ghost struct {
	pgid, sid wire.PID
	argv      string
}

type frontEnd struct {
	t      *testing.T
	ghosts map[wire.PID]*ghost
	last   uint64
	births int
}

func (f *frontEnd) apply(events wire.Events) {
	f.t.Helper()
	if events.First != f.last+1 {
		f.t.Fatalf("events from %d after %d", events.First, f.last)
	}
	for _, e := range events.Events {
		f.last++
		f.event(e)
	}
}

func (f *frontEnd) event(e wire.Event) {
	f.t.Helper()
	g := f.ghosts[e.PID]
	if (g == nil) != (e.Kind == wire.EventForked) {
		f.t.Fatalf("event %d: %s: ghost is there: %v", f.last, show(e), g != nil)
	}
	switch e.Kind {
	case wire.EventForked:
		parent := f.ghosts[e.Parent]
		if parent == nil {
			f.t.Fatalf("event %d: %s: parent has no ghost", f.last, show(e))
		}
		f.births++
		copied := *parent
		g = &copied
		f.ghosts[e.PID] = g
	case wire.EventExited:
		delete(f.ghosts, e.PID)
		return
	default: // what it changes is below
	}
	if len(e.Argv) > 0 {
		g.argv = e.Argv[0]
	}
	f.join(e, g)
}

// join is setsid(2) or setpgid(2) of a ghost.
func (f *frontEnd) join(e wire.Event, g *ghost) {
	f.t.Helper()
	switch {
	case e.SID != 0:
		if e.SID != e.PID || e.PGID != e.PID || g.pgid == e.PID {
			f.t.Fatalf("event %d: %s: setsid is not possible", f.last, show(e))
		}
		g.pgid, g.sid = e.PID, e.PID
	case e.PGID == e.PID:
		g.pgid = e.PID
	case e.PGID != 0:
		for _, member := range f.ghosts {
			if member.pgid == e.PGID && member.sid == g.sid {
				g.pgid = e.PGID
				return
			}
		}
		f.t.Fatalf("event %d: %s: no such group", f.last, show(e))
	}
}

// world couples the three.
type world struct {
	*testing.T
	k       *kernel
	f       *frontEnd
	tracker *procevents.Tracker
	now     time.Time
	forks   int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		T:   t,
		k:   &kernel{rng: rand.New(rand.NewPCG(seed, 0)), tasks: map[wire.PID]*task{}, ends: map[wire.PID]wire.Status{}, next: 1 << 20, launched: 100},
		f:   &frontEnd{t: t, ghosts: map[wire.PID]*ghost{}},
		now: time.Unix(0, 0),
	}
	w.tracker = procevents.NewTracker(procevents.DefaultHold, func(pid wire.PID) ([]string, bool) {
		p := w.k.tasks[pid]
		if p == nil {
			return nil, false
		}
		return []string{p.argv}, true
	})
	return w
}

func (w *world) launch() {
	w.k.launched++
	pid := w.k.launched
	w.tracker.Launching(&wire.Spawn{PID: pid, PGID: pid, SID: 1})
	p := &task{pid: pid, parent: 1, pgid: pid, sid: 1, root: pid, launched: true, heard: w.now}
	w.k.add(p)
	w.k.exec(p)
	w.f.ghosts[pid] = &ghost{pgid: pid, sid: 1, argv: p.argv}
}

// drain feeds what the kernel has noted, then what init says.
func (w *world) drain() {
	for _, r := range w.k.records {
		w.tracker.Record(r, w.now)
		if p := w.k.tasks[r.PID]; p != nil && r.Kind == procevents.Forked {
			p.heard = w.now
			w.forks++
		}
	}
	w.k.records = nil
	for pid, status := range w.k.ends {
		w.tracker.Ended(pid, status)
	}
	clear(w.k.ends)
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.k.rng.IntN(700)) * time.Microsecond)
	switch n := w.k.rng.IntN(100); {
	case len(w.k.order) == 0 || n < 2:
		w.launch()
	case n < 40:
		w.k.fork(w.k.pick())
	case n < 50:
		w.k.exec(w.k.pick())
	case n < 56:
		w.k.regroup(w.k.pick())
	case n < 56+min(40, len(w.k.order)):
		w.k.exit(w.k.pick())
	default:
		w.tracker.Spawned(w.k.pick().pid)
	}
	if w.k.rng.IntN(3) == 0 {
		w.drain()
	}
	all := w.k.rng.IntN(30) == 0
	w.f.apply(w.tracker.Flush(all, w.now))
	for pid, p := range w.k.tasks {
		heard := !p.heard.IsZero() && (all || w.now.Sub(p.heard) >= procevents.DefaultHold)
		if heard && w.f.ghosts[pid] == nil {
			w.Fatalf("process %d, known for %v, has no ghost", pid, w.now.Sub(p.heard))
		}
	}
	if all && len(w.k.records) == 0 {
		w.compare()
	}
}

// compare checks the ghosts of everything when nothing is on its way.
func (w *world) compare() {
	for pid, p := range w.k.tasks {
		g := w.f.ghosts[pid]
		if g.argv != p.argv {
			w.Fatalf("ghost %d has the argv of %s, want %s", pid, g.argv, p.argv)
		}
		if !p.odd && (g.pgid != p.pgid || g.sid != p.sid) {
			w.Fatalf("ghost %d is in group %d and session %d, want %d and %d", pid, g.pgid, g.sid, p.pgid, p.sid)
		}
	}
}

var seed = flag.Uint64("seed", 0, "first seed of TestModel; 0: another each time")

func TestModel(t *testing.T) {
	seed := *seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for run := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed+run), func(t *testing.T) {
			w := newWorld(t, seed+run)
			for range 2000 {
				w.step()
			}
			for len(w.k.order) > 0 {
				w.k.exit(w.k.pick())
			}
			w.drain()
			w.f.apply(w.tracker.Flush(true, w.now))
			if n := len(w.f.ghosts); n != 0 {
				t.Errorf("%d ghosts are left", n)
			}
			if s := w.tracker.Stats(); s != (procevents.Stats{}) {
				t.Errorf("left in the tracker: %+v", s)
			}
			if w.f.births >= w.forks {
				t.Errorf("%d births told of %d, none was spared", w.f.births, w.forks)
			}
		})
	}
}
