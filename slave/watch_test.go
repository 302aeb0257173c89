package slave

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// watched is a made-up /proc with a watch on it.
type watched struct {
	*watch
	procs map[wire.PID]procevents.ProcessInfo
	reads int
	led   []wire.PID // session and group, one after the other
}

func newWatched() *watched {
	w := &watched{procs: map[wire.PID]procevents.ProcessInfo{}}
	for _, pid := range []wire.PID{17, 18} {
		w.procs[pid] = procevents.ProcessInfo{PID: pid, PGID: 5, SID: 5}
	}
	w.watch = newWatch(func(pid wire.PID) (procevents.ProcessInfo, bool) {
		w.reads++
		p, ok := w.procs[pid]
		return p, ok
	}, func(sid, pgid wire.PID) error {
		w.led = append(w.led, sid, pgid)
		return nil
	})
	return w
}

func (w *watched) set(pid wire.PID, change func(*procevents.ProcessInfo)) {
	p := w.procs[pid]
	change(&p)
	w.procs[pid] = p
}

func (w *watched) check(t *testing.T, when string, want ...wire.PID) {
	t.Helper()
	got := w.look(time.Now())
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && got[i] == w.procs[want[i]]
	}
	if !ok {
		t.Errorf("%s: got %+v, want %v", when, got, want)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched()
		w.check(t, "nobody is watched")
		if w.reads != 0 {
			t.Errorf("/proc was read %d times for nobody", w.reads)
		}
		w.add(17)
		w.add(99) // is gone
		w.check(t, "before the change")
		w.set(17, func(p *procevents.ProcessInfo) { p.PGID = 17 })
		w.set(18, func(p *procevents.ProcessInfo) { p.PGID = 17 })
		w.check(t, "after the change", 17)
		w.check(t, "it is told once")
		w.add(17)
		w.set(17, func(p *procevents.ProcessInfo) { p.User.Effective = 1000 })
		w.check(t, "another user", 17)

		// A second call before anybody has looked at what the first has done.
		w.add(17)
		w.set(17, func(p *procevents.ProcessInfo) { p.Group.Real = 7 })
		w.add(17)
		w.check(t, "after the first of two calls", 17)
		w.set(17, func(p *procevents.ProcessInfo) { p.User.Real = 7 })
		w.check(t, "after the second of two calls", 17)

		// A call without an effect, again and again.
		for range 1000 {
			w.add(17)
		}
		if len(w.all) != 1 {
			t.Errorf("one process is watched %d times", len(w.all))
		}
		w.add(18)
		delete(w.procs, 18)
		w.check(t, "it has ended")
		time.Sleep(2 * time.Second)
		w.check(t, "nothing has happened for long")
		if len(w.all) != 0 || w.count.Load() != 0 {
			t.Errorf("%d are watched for ever", len(w.all))
		}
	})
}

// TestWatchLooksByItself has nobody say anything, and looks when it must.
func TestWatchLooksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := newWatched()
		begun := time.Now()
		var at []time.Duration
		ended := make(chan error, 1)
		go func() {
			ended <- w.run(ctx, func() {
				at = append(at, time.Since(begun))
				w.look(time.Now())
			})
		}()
		w.add(17)
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

// A group that a process from the front end makes for itself is seen to, once, and no
// other.
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
		w := newWatched()
		w.procs[c.was.PID] = c.was
		w.add(c.was.PID)
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
