package slave

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bproc/slave/procevents"
	"bproc/wire"
)

// watch looks after processes that were let go on with a system call that may change
// their group, session or credentials: nobody says whether and when it has. Whoever
// lets something out that a process may have said looks before, and so does run a
// little later, for the processes that say nothing.
type watch struct {
	process func(wire.PID) (procevents.ProcessInfo, bool) // as it is now
	led     func(sid, pgid wire.PID) error                // makes up for what a group of the front end's session lacks here
	count   atomic.Int32                                  // of those watched: most of the time there are none
	wake    chan struct{}

	groups groups

	mu  sync.Mutex
	all map[before]*looks
}

// before is what a process was when its call began.
type before struct {
	pid, pgid, sid wire.PID
	user, group    wire.IDs
}

// looks says when a process is looked at.
type looks struct {
	begun time.Time
	done  int // how many of lookTimes
}

// lookTimes are the times at which a process is looked at whose call has not had an
// effect: most have one at once, or never.
var lookTimes = [...]time.Duration{
	200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond,
	20 * time.Millisecond, 100 * time.Millisecond, time.Second,
}

func newWatch(process func(wire.PID) (procevents.ProcessInfo, bool), led func(sid, pgid wire.PID) error) *watch {
	return &watch{process: process, led: led, wake: make(chan struct{}, 1), all: make(map[before]*looks)}
}

func stateOf(p *procevents.ProcessInfo) before {
	return before{pid: p.PID, pgid: p.PGID, sid: p.SID, user: p.User, group: p.Group}
}

// add watches a process that is about to make such a call. One that is watched may
// make the next call before anybody has looked: it is then watched twice.
func (w *watch) add(pid wire.PID) {
	p, ok := w.process(pid)
	if !ok {
		return
	}
	w.mu.Lock()
	w.all[stateOf(&p)] = &looks{begun: time.Now()}
	w.count.Store(int32(len(w.all)))
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// look returns the processes that have changed, as they are now.
func (w *watch) look(now time.Time) []procevents.ProcessInfo {
	if w.count.Load() == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := make(map[wire.PID]*procevents.ProcessInfo)
	var changed []procevents.ProcessInfo
	for was, l := range w.all {
		is, looked := seen[was.pid]
		if !looked {
			if p, ok := w.process(was.pid); ok {
				is = &p
			}
			seen[was.pid] = is
		}
		for l.done < len(lookTimes) && now.Sub(l.begun) >= lookTimes[l.done] {
			l.done++
		}
		same := is != nil && stateOf(is) == was
		if same && l.done < len(lookTimes) {
			continue
		}
		delete(w.all, was)
		if is != nil && !same {
			changed = append(changed, *is)
			w.seeTo(was, is)
		}
	}
	w.count.Store(int32(len(w.all)))
	return changed
}

// seeTo sees to a group that a process from the front end has made for itself. An
// error is one of a space that is about to end.
func (w *watch) seeTo(was before, is *procevents.ProcessInfo) {
	if was.pgid != is.PGID && leads(is) {
		_ = w.led(is.SID, is.PGID)
	}
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
