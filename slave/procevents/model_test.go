package procevents_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/slave/procevents"
	"bproc/wire"
)

// The model: a made-up kernel in which processes act at random, and a made-up front end that obeys
// events as its kernel would, and refuses impossible ones. The tracker is between them.

type ghost struct {
	pid, pgid, sid wire.PID
	user           wire.IDs
	stop           wire.Status
	argv           string
	born, died     uint64 // numbers of its events; born 0: was first; died 0: lives
	family         *family
}

type frontEnd struct {
	t      *testing.T
	ghosts map[wire.PID]*ghost
	all    []*ghost // also those that have died
	last   uint64
	births int
	died   map[wire.PID][]wire.Status // how the owners of a number have ended, as the kernel knows
}

func (f *frontEnd) add(g *ghost) {
	f.ghosts[g.pid] = g
	f.all = append(f.all, g)
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
		g = f.fork(e)
	case wire.EventZombie: // signals have no effect on it any more
		g.died = f.last
		return
	case wire.EventExited:
		g.died = f.last
		i := slices.Index(f.died[e.PID], e.Status)
		if i < 0 {
			f.t.Fatalf("event %d: %s: its last owners have ended with %v", f.last, show(e), f.died[e.PID])
		}
		f.died[e.PID] = f.died[e.PID][i+1:]
		delete(f.ghosts, e.PID)
		return
	case wire.EventStopped, wire.EventContinued:
		if (g.stop == 0) != (e.Kind == wire.EventStopped) || (e.Status == 0) != (e.Kind == wire.EventContinued) {
			f.t.Fatalf("event %d: %s: it was stopped by %d", f.last, show(e), g.stop)
		}
		g.stop = e.Status
	default: // its changes are below
	}
	if len(e.Argv) > 0 {
		g.argv = e.Argv[0]
	}
	if e.User != nil {
		if *e.User == g.user {
			f.t.Fatalf("event %d: %s: nothing new", f.last, show(e))
		}
		g.user = *e.User
	}
	f.join(e, g)
}

func (f *frontEnd) fork(e wire.Event) *ghost {
	f.t.Helper()
	maker := f.ghosts[e.Parent]
	if maker == nil && (e.Parent != 0 || e.Maker == 0) {
		f.t.Fatalf("event %d: %s: parent has no ghost", f.last, show(e))
	}
	if e.Maker != 0 {
		maker = f.ghosts[e.Maker]
	}
	if maker == nil {
		f.t.Fatalf("event %d: %s: maker has no ghost", f.last, show(e))
	}
	for _, g := range f.ghosts {
		if g.pgid == e.PID || g.sid == e.PID {
			f.t.Fatalf("event %d: %s: ghost %d is in group %d and session %d", f.last, show(e), g.pid, g.pgid, g.sid)
		}
	}
	f.births++
	g := *maker
	g.pid, g.born, g.stop = e.PID, f.last, 0
	f.add(&g)
	return &g
}

// join is setsid(2) or setpgid(2) of a ghost.
func (f *frontEnd) join(e wire.Event, g *ghost) {
	f.t.Helper()
	switch {
	case e.SID != 0:
		in := func(g *ghost) bool { return g.pgid == e.PID }
		if e.SID != e.PID || e.PGID != e.PID || slices.ContainsFunc(slices.Collect(maps.Values(f.ghosts)), in) {
			f.t.Fatalf("event %d: %s: setsid is not possible", f.last, show(e))
		}
		g.pgid, g.sid = e.PID, e.PID
	case e.PGID == e.PID:
		g.pgid = e.PID
	case e.PGID != 0:
		if !f.group(e.PGID, g.sid) {
			f.t.Fatalf("event %d: %s: no such group", f.last, show(e))
		}
		g.pgid = e.PGID
	}
}

// group reports whether there is a group in a session. Groups that the front end has made stay: it
// is not known who else is in them.
func (f *frontEnd) group(pgid, sid wire.PID) bool {
	if pgid < pidmap.Node {
		return slices.Contains(sessions[sid], pgid) || slices.ContainsFunc(f.all, func(g *ghost) bool { return g.pid == pgid })
	}
	for _, g := range f.ghosts {
		if g.pgid == pgid && g.sid == sid {
			return true
		}
	}
	return false
}

// world connects kernel, tracker and front end.
type world struct {
	*testing.T
	k       *kernel
	f       *frontEnd
	tracker *procevents.Tracker
	now     time.Time
	hold    time.Duration
	forks   int
	lates   int // processes found by Late
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, k: newKernel(seed), now: time.Unix(0, 0), hold: procevents.DefaultHold}
	w.f = &frontEnd{t: t, ghosts: map[wire.PID]*ghost{}, died: w.k.died}
	w.tracker = procevents.NewTracker(procevents.DefaultHold, func(pid wire.PID) (procevents.Image, bool) {
		p := w.k.tasks[pid]
		if p == nil {
			return procevents.Image{}, false
		}
		return procevents.Image{Argv: []string{p.argv}}, true
	})
	w.tracker.KeepZombies(func(pid wire.PID) (procevents.ProcessInfo, bool) {
		if p := w.k.zombies[pid]; p != nil {
			return procevents.ProcessInfo{PGID: p.pgid, SID: p.sid, User: p.user}, true
		}
		return procevents.ProcessInfo{}, false
	})
	return w
}

func (w *world) launch() {
	p, spawn := w.k.launch()
	w.tracker.Launching(core.Asked(spawn))
	g := &ghost{pid: p.pid, pgid: p.pgid, sid: p.sid, user: p.user, family: p.family}
	if p.family.unnamed {
		g.pgid, g.sid = -p.pid, -p.pid
	}
	w.f.add(g)
	p.heard = w.now
	w.k.exec(p)
	g.argv = p.argv
}

// drain feeds the tracker what the kernel has noted, then init's reports.
func (w *world) drain() {
	for _, r := range w.k.records {
		if r.seen != nil {
			w.tracker.Observe(*r.seen, w.now)
			continue
		}
		w.tracker.Record(r.Record, w.now)
		if p := w.k.tasks[r.PID]; p != nil && r.Kind == procevents.Forked {
			p.heard, p.after = w.now, w.f.last
			w.forks++
		}
	}
	w.k.records = nil
	for _, pid := range slices.Sorted(maps.Keys(w.k.ends)) {
		w.tracker.Ended(&wire.InitStatus{PID: pid, Status: uint32(w.k.ends[pid])})
	}
	clear(w.k.ends)
}

// change lets a process change its group or credentials, or a zombie be moved.
func (w *world) change() {
	p := w.k.pick()
	switch w.k.rng.IntN(6) {
	case 0:
		w.k.regroup(p)
		w.k.exec(p)
	case 1, 2, 3:
		w.k.regroup(p)
	case 4:
		p.user.Effective = uint32(w.k.rng.IntN(3))
		w.k.see(p)
	case 5:
		w.k.regroupZombie()
	}
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.k.rng.IntN(700)) * time.Microsecond)
	switch n := w.k.rng.IntN(100); {
	case len(w.k.order) == 0 || n < 2:
		w.launch()
	case n < 40:
		w.k.fork(w.k.pick())
	case n < 48:
		w.k.exec(w.k.pick())
	case n < 54:
		w.change()
	case n < 60:
		w.k.halt(w.k.pick())
	case n < 60+min(38, len(w.k.order)):
		w.k.exit(w.k.pick())
	default:
		w.tracker.Spawned(w.k.pick().pid)
	}
	if w.k.rng.IntN(3) == 0 {
		w.drain()
	}
	if w.k.rng.IntN(100) == 0 {
		w.hold = procevents.DefaultHold * time.Duration(1+w.k.rng.IntN(10))
		w.tracker.Hold(w.hold)
	}
	w.look()
	if len(w.k.order) > 0 && w.k.rng.IntN(20) == 0 {
		w.drain()
		w.signalGroup(w.k.pick().pgid, w.f.last-min(w.f.last, uint64(w.k.rng.IntN(40))))
	}
}

// look gives the front end the events that are due, or all, and checks them.
func (w *world) look() {
	all := w.k.rng.IntN(30) == 0
	if w.tracker.Look(all, w.now) {
		w.drain()
	}
	w.f.apply(w.tracker.Flush(all, w.now))
	for pid, p := range w.k.tasks {
		heard := !p.heard.IsZero() && (all || w.now.Sub(p.heard) >= w.hold)
		if g := w.f.ghosts[pid]; heard && (g == nil || g.born <= p.after && !p.launched) {
			w.Fatalf("process %d, known for %v, has no ghost", pid, w.now.Sub(p.heard))
		}
	}
	if all && len(w.k.records) == 0 {
		w.compare()
	}
}

// compare compares all ghosts with their processes when nothing is on its way.
func (w *world) compare() {
	w.Helper()
	for pid, z := range w.k.zombies {
		if g := w.f.ghosts[pid]; g != nil && !z.family.unnamed && (g.pgid != z.pgid || g.sid != z.sid) {
			w.Fatalf("zombie %d is in group %d and session %d, want %d and %d", pid, g.pgid, g.sid, z.pgid, z.sid)
		}
	}
	for pid, p := range w.k.tasks {
		g := w.f.ghosts[pid]
		if g.argv != p.argv || g.stop != p.stop || g.user != p.user {
			w.Fatalf("ghost %d has argv %s, user %v, is stopped by %d; want %s, %v, %d", pid, g.argv, g.user, g.stop, p.argv, p.user, p.stop)
		}
		pgid, sid := p.pgid, p.sid
		if p.family.unnamed && pgid < pidmap.Node {
			continue
		}
		if sid == 1 {
			sid = g.sid
		}
		if g.pgid != pgid || g.sid != sid {
			w.Fatalf("ghost %d is in group %d and session %d, want %d and %d", pid, g.pgid, g.sid, pgid, sid)
		}
	}
}

// signalGroup gives a signal to a group on the front end, which has obeyed the events up to seen
// and not yet those after. In families without changes of groups each process of the group must get
// it once: by its ghost, or as a late one of another's ghost.
func (w *world) signalGroup(pgid wire.PID, seen uint64) {
	w.Helper()
	got := map[wire.PID]int{}
	for _, g := range w.f.all {
		named := g.pgid == pgid || g.pgid == -pgid
		if !named || g.born > seen || g.died != 0 && g.died <= seen {
			continue
		}
		if w.tracker.Meant(g.pid, seen) {
			got[g.pid]++
		}
		for _, pid := range w.tracker.Late(g.pid, seen, 0) {
			got[pid]++
			w.lates++
		}
	}
	for pid, p := range w.k.tasks {
		if p.pgid == pgid && !p.family.mixed && !p.heard.IsZero() && got[pid] != 1 {
			w.Fatalf("process %d got a signal for group %d, sent after event %d, %d times", pid, pgid, seen, got[pid])
		}
	}
}

var (
	seed = flag.Uint64("seed", 1, "first seed of TestModel")
	runs = flag.Uint64("runs", 40, "how many seeds TestModel goes through")
)

func TestModel(t *testing.T) {
	forks, births, lates := 0, 0, 0
	for run := range *runs {
		t.Run(fmt.Sprint("seed ", *seed+run), func(t *testing.T) {
			w := newWorld(t, *seed+run)
			for range 2000 {
				w.step()
			}
			for len(w.k.order) > 0 {
				w.k.exit(w.k.pick())
			}
			clear(w.k.zombies)
			w.drain()
			w.tracker.Look(true, w.now)
			w.f.apply(w.tracker.Flush(true, w.now))
			if n := len(w.f.ghosts); n != 0 {
				t.Errorf("%d ghosts are left", n)
			}
			if s := w.tracker.Stats(); s != (procevents.Stats{}) {
				t.Errorf("left in the tracker: %+v", s)
			}
			forks, births, lates = forks+w.forks, births+w.f.births, lates+w.lates
		})
	}
	if births >= forks {
		t.Errorf("%d births told of %d, none was spared", births, forks)
	}
	if lates == 0 {
		t.Error("nobody was late for a signal")
	}
}
