package slave

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bproc/slave/procevents"
	"bproc/wire"
)

// watch looks after processes that were let go on with a system call that may change
// their group, session or credentials: nobody says whether and when it has.
//
// No change may be missed, nor be taken for later than another: the front end's kernel
// allows a ghost what it allowed the process only if all ghosts are where the processes
// were then. A change begins with a call that is asked about. So before the next is let
// go on, it is looked what has come of those before; and whoever lets something out that
// a process may have said looks too, and so does run a little later, for the processes
// that say nothing. What was seen has its place among the kernel's records.
type watch struct {
	process  func(wire.PID) (procevents.ProcessInfo, bool) // as it is now; also one that has ended, until it is waited for
	position func() uint64                                 // of the kernel's next record
	led      func(sid, pgid wire.PID) error                // makes up for what a group of the front end's session lacks here
	count    atomic.Int32                                  // of those watched: most of the time there are none
	wake     chan struct{}

	groups groups

	mu     sync.Mutex
	all    map[wire.PID]*watched
	recent []wire.PID // who has called last, the latest at the end
	seen   []sight    // changes that nobody has taken, the oldest first
}

// watched is a process of which calls are under way.
type watched struct {
	was   traits
	calls int // that have had no effect so far
	begun time.Time
	done  int // how many of lookTimes
}

// traits are what such calls change.
type traits struct {
	pgid, sid   wire.PID
	user, group wire.IDs
}

// sight is what a process was seen to be.
type sight struct {
	at uint64 // the kernel's records before came first
	is procevents.ProcessInfo
}

// lookTimes are the times at which a process is looked at whose call has not had an
// effect: most have one at once, or never. The last are for a machine that is so busy
// that it has not come to that.
var lookTimes = [...]time.Duration{
	200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond,
	20 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second,
}

// lookAlways is for how long a process is looked at whenever anybody looks.
const lookAlways = time.Second

// Bounds. Those who called before the last few have long gone on; what was seen is taken
// within a millisecond.
const (
	maxRecent = 16
	maxSeen   = 4096
)

func newWatch(process func(wire.PID) (procevents.ProcessInfo, bool), position func() uint64, led func(sid, pgid wire.PID) error) *watch {
	return &watch{process: process, position: position, led: led, wake: make(chan struct{}, 1), all: make(map[wire.PID]*watched)}
}

func traitsOf(p *procevents.ProcessInfo) traits {
	return traits{pgid: p.PGID, sid: p.SID, user: p.User, group: p.Group}
}

// regroups watches a process whose group or session is about to change. What others have
// done to theirs, which may be why this can be done, comes first.
func (w *watch) regroups(pid wire.PID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.recent {
		if l := w.all[other]; l != nil && other != pid {
			w.seeLocked(other, l)
		}
	}
	w.addLocked(pid)
}

// recredits watches a process whose credentials are about to change.
func (w *watch) recredits(pid wire.PID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(pid)
}

func (w *watch) addLocked(pid wire.PID) {
	l := w.all[pid]
	if l != nil {
		w.seeLocked(pid, l)
	} else {
		is, ok := w.process(pid)
		if !ok {
			return
		}
		l = &watched{was: traitsOf(&is)}
	}
	l.calls++
	l.begun, l.done = time.Now(), 0
	w.all[pid] = l
	w.count.Store(int32(len(w.all)))
	w.recent = append(slices.DeleteFunc(w.recent, func(p wire.PID) bool { return p == pid }), pid)
	if len(w.recent) > maxRecent {
		w.recent = w.recent[1:]
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// seeLocked looks at a process, which is watched no longer if nothing can come any more.
func (w *watch) seeLocked(pid wire.PID, l *watched) {
	is, ok := w.process(pid)
	if !ok {
		delete(w.all, pid)
		return
	}
	was := l.was
	l.was = traitsOf(&is)
	if l.was == was {
		return
	}
	if len(w.seen) == maxSeen {
		w.seen = w.seen[1:]
	}
	w.seen = append(w.seen, sight{w.position(), is})
	if was.pgid != is.PGID && leads(&is) {
		_ = w.led(is.SID, is.PGID) // an error is one of a space that is about to end
	}
	if l.calls--; l.calls <= 0 {
		delete(w.all, pid)
	}
}

// look looks at those who are watched.
func (w *watch) look(now time.Time) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid, l := range w.all {
		due := now.Sub(l.begun) <= lookAlways
		for l.done < len(lookTimes) && now.Sub(l.begun) >= lookTimes[l.done] {
			l.done++
			due = true
		}
		if due {
			w.seeLocked(pid, l)
		}
		if l.done == len(lookTimes) {
			delete(w.all, pid)
		}
	}
	w.count.Store(int32(len(w.all)))
}

// take takes the changes that came before a place in the kernel's records.
func (w *watch) take(before uint64) (all []sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(w.seen) && w.seen[n].at <= before {
		n++
	}
	all, w.seen = w.seen[:n:n], w.seen[n:]
	if len(w.seen) == 0 {
		w.seen = nil
	}
	return all
}

// next returns how long it is to the next look.
func (w *watch) next() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	soonest, any := time.Duration(0), false
	for _, l := range w.all {
		if at := time.Until(l.begun.Add(lookTimes[l.done])); !any || at < soonest {
			soonest, any = at, true
		}
	}
	return soonest, any
}

// run calls look, which makes this watch's look, when it is time.
func (w *watch) run(ctx context.Context, look func()) error {
	for {
		var due <-chan time.Time
		if after, ok := w.next(); ok {
			due = time.After(after)
		}
		select {
		case <-w.wake:
		case <-due:
			look()
		case <-ctx.Done():
			return nil
		}
	}
}
