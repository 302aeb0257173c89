package slave

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// madeUp is a made-up /proc with a watch on it.
type madeUp struct {
	*watch
	procs map[wire.PID]procevents.ProcessInfo
	err   error // of reading
	reads int
	at    uint64     // of the next record
	led   []wire.PID // session and group, in succession
}

func newMadeUp() *madeUp {
	w := &madeUp{procs: map[wire.PID]procevents.ProcessInfo{}}
	for _, pid := range []wire.PID{17, 18} {
		w.procs[pid] = procevents.ProcessInfo{PID: pid, PGID: 5, SID: 5}
	}
	w.watch = newWatch(func(pid wire.PID) (procevents.ProcessInfo, error) {
		w.reads++
		if w.err != nil {
			return procevents.ProcessInfo{}, w.err
		}
		return entryOf(w.procs, pid)
	}, func() uint64 { return w.at }, func(sid, pgid wire.PID) error {
		w.led = append(w.led, sid, pgid)
		return nil
	})
	return w
}

// entryOf returns the entry of a process in a made-up /proc.
func entryOf(procs map[wire.PID]procevents.ProcessInfo, pid wire.PID) (procevents.ProcessInfo, error) {
	p, ok := procs[pid]
	if !ok {
		return p, procevents.ErrGone
	}
	return p, nil
}

func (w *madeUp) set(pid wire.PID, change func(*procevents.ProcessInfo)) {
	p := w.procs[pid]
	change(&p)
	w.procs[pid] = p
}

func (w *madeUp) check(t *testing.T, when string, want ...wire.PID) {
	t.Helper()
	w.look(time.Now())
	got := w.take(w.at)
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && got[i].is == w.procs[want[i]]
	}
	if !ok {
		t.Errorf("%s: got %+v, want %v", when, got, want)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMadeUp()
		w.check(t, "nobody is watched")
		if w.reads != 0 {
			t.Errorf("/proc was read %d times for nobody", w.reads)
		}
		w.recredits(17)
		w.recredits(99) // this process is gone
		w.check(t, "before the change")
		w.set(17, func(p *procevents.ProcessInfo) { p.PGID = 17 })
		w.set(18, func(p *procevents.ProcessInfo) { p.PGID = 17 })
		w.check(t, "after the change", 17)
		w.check(t, "it is told once")
		w.recredits(17)
		w.set(17, func(p *procevents.ProcessInfo) { p.User.Effective = 1000 })
		w.check(t, "another user", 17)

		// A second call before the effect of the first was looked for.
		w.recredits(17)
		w.set(17, func(p *procevents.ProcessInfo) { p.Group.Real = 7 })
		w.recredits(17)
		w.check(t, "the first of two calls, seen at the second", 17)
		w.set(17, func(p *procevents.ProcessInfo) { p.User.Real = 7 })
		w.check(t, "after the second of two calls", 17)

		// A call without an effect, again and again.
		for range 1000 {
			w.recredits(17)
		}
		if len(w.all) != 1 {
			t.Errorf("one process is watched %d times", len(w.all))
		}
		w.recredits(18)
		delete(w.procs, 18)
		w.check(t, "it has ended")
		time.Sleep(time.Minute)
		w.check(t, "nothing has happened for long")
		if len(w.all) != 0 || w.count.Load() != 0 {
			t.Errorf("%d are watched for ever", len(w.all))
		}
	})
}

// TestWatchCannotRead: a process that cannot be read for a moment is still watched.
func TestWatchCannotRead(t *testing.T) {
	w := newMadeUp()
	w.recredits(17)
	w.set(17, func(p *procevents.ProcessInfo) { p.User.Real = 7 })
	w.err = unix.EMFILE
	w.check(t, "without descriptors")
	w.err = nil
	w.check(t, "with descriptors", 17)
}

// Each change is seen before the next is made, by any process, and has its place among the kernel's
// records.
func TestWatchSeesEachChange(t *testing.T) {
	const leader, member = 17, 18
	join := func(pgid wire.PID) func(*procevents.ProcessInfo) {
		return func(p *procevents.ProcessInfo) { p.PGID = pgid }
	}
	w := newMadeUp()
	w.at = 100
	w.regroups(leader)
	w.set(leader, join(leader))
	w.at = 200
	w.regroups(member)
	w.set(member, join(leader))
	w.at = 300
	w.regroups(leader)
	w.set(leader, join(5))
	w.at = 400
	w.regroups(leader) // setsid, which one that leads a group cannot call
	w.set(leader, func(p *procevents.ProcessInfo) { p.PGID, p.SID = leader, leader })
	w.at = 500
	w.look(time.Now())
	var got []string
	for _, before := range []uint64{199, 200, 350, 1000} {
		for _, s := range w.take(before) {
			got = append(got, fmt.Sprintf("before %d: %d at %d: group %d, session %d", before, s.is.PID, s.at, s.is.PGID, s.is.SID))
		}
	}
	want := []string{
		"before 200: 17 at 200: group 17, session 5",
		"before 350: 18 at 300: group 17, session 5",
		"before 1000: 17 at 400: group 5, session 5",
		"before 1000: 17 at 500: group 17, session 17",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(w.all) != 0 {
		t.Errorf("%d are watched after their last change", len(w.all))
	}
}

// Two calls of one process are under way: the effect of the second comes after that of the first
// was seen.
func TestWatchOfTwoCalls(t *testing.T) {
	w := newMadeUp()
	w.regroups(17) // called by the process itself
	w.regroups(17) // called by its parent
	w.set(17, func(p *procevents.ProcessInfo) { p.PGID = 17 })
	w.check(t, "the first", 17)
	w.set(17, func(p *procevents.ProcessInfo) { p.PGID = 18 })
	w.check(t, "the second", 17)
	if len(w.all) != 0 {
		t.Errorf("%d are watched after both calls", len(w.all))
	}
}

// TestWatchEndsWithExec has a process execute another program: what its calls before have done is
// known by that. A call after that is watched.
func TestWatchEndsWithExec(t *testing.T) {
	w := newMadeUp()
	const young = pidmap.Node + 17
	w.procs[young] = procevents.ProcessInfo{PID: young, PGID: 5, SID: 5}
	w.at = 100
	w.recredits(young)
	w.executed(young, 99)
	if w.count.Load() != 1 {
		t.Error("a call after an exec is not watched")
	}
	w.recredits(18)
	w.executed(young, 100)
	if w.count.Load() != 1 || w.all[18] == nil {
		t.Errorf("%d are watched, want 18 alone", w.count.Load())
	}
	w.executed(young, 200)
	w.set(young, func(p *procevents.ProcessInfo) { p.User.Real = 5 })
	w.check(t, "executed")
}

// TestWatchIsBounded does not take the changes: the number that is kept is bounded. One process that
// changes very often makes no change of others be missed, nor its own last ones.
func TestWatchIsBounded(t *testing.T) {
	w := newMadeUp()
	w.regroups(18)
	w.set(18, func(p *procevents.ProcessInfo) { p.PGID = 18 })
	const changes = 3*maxSeen + maxSeen/2
	for i := range changes {
		w.regroups(17)
		w.set(17, func(p *procevents.ProcessInfo) { p.PGID = wire.PID(i) })
	}
	w.look(time.Now())
	if first, last := w.seen[0].is, w.seen[len(w.seen)-1].is; first.PID != 18 || first.PGID != 18 || last.PID != 17 || last.PGID != changes-1 {
		t.Errorf("kept are %+v to %+v", first, last)
	}
	if !slices.IsSortedFunc(w.seen[1:], func(a, b sight) int { return int(a.is.PGID - b.is.PGID) }) {
		t.Error("the changes are out of order")
	}
	for pid := range wire.PID(2 * maxRecent) {
		w.procs[100+pid] = procevents.ProcessInfo{PID: 100 + pid}
		w.regroups(100 + pid)
	}
	if len(w.seen) > maxSeen || len(w.recent) > maxRecent {
		t.Errorf("%d changes and %d processes are kept", len(w.seen), len(w.recent))
	}
}

// TestWatchLooksByItself has no process say anything, and the watch looks when it must.
func TestWatchLooksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := newMadeUp()
		begun := time.Now()
		var at []time.Duration
		ended := make(chan error, 1)
		go func() {
			ended <- w.run(ctx, func() {
				at = append(at, time.Since(begun))
				w.look(time.Now())
			})
		}()
		w.recredits(17)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(at) != len(lookTimes) {
			t.Fatalf("looked at %v, want %v", at, lookTimes)
		}
		for i := range at {
			if at[i] != lookTimes[i] {
				t.Errorf("look %d: at %v, want %v", i, at[i], lookTimes[i])
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A group that a process from the front end makes for itself gets an anchor, once, and no other
// group does.
func TestWatchSeesToGroups(t *testing.T) {
	const node = pidmap.Node
	for _, c := range []struct {
		name     string
		was, is  procevents.ProcessInfo
		attended bool
	}{
		{"from the front end, own group", procevents.ProcessInfo{PID: 17, PGID: 5, SID: 4}, procevents.ProcessInfo{PID: 17, PGID: 17, SID: 4}, true},
		{"from the front end, another's group", procevents.ProcessInfo{PID: 17, PGID: 5, SID: 4}, procevents.ProcessInfo{PID: 17, PGID: 6, SID: 4}, false},
		{"from the front end, own session", procevents.ProcessInfo{PID: 17, PGID: 5, SID: 4}, procevents.ProcessInfo{PID: 17, PGID: 17, SID: 17}, false},
		{"from the front end, another user", procevents.ProcessInfo{PID: 17, PGID: 17, SID: 4}, procevents.ProcessInfo{PID: 17, PGID: 17, SID: 4, User: wire.IDs{Real: 1}}, false},
		{"forked here, own group", procevents.ProcessInfo{PID: node, PGID: 5, SID: 4}, procevents.ProcessInfo{PID: node, PGID: node, SID: 4}, false},
	} {
		w := newMadeUp()
		w.procs[c.was.PID] = c.was
		w.regroups(c.was.PID)
		w.procs[c.is.PID] = c.is
		w.look(time.Now())
		w.look(time.Now())
		var want []wire.PID
		if c.attended {
			want = []wire.PID{c.is.SID, c.is.PGID}
		}
		if !slices.Equal(w.led, want) {
			t.Errorf("%s: got %v, want %v", c.name, w.led, want)
		}
	}
}
