package slave

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// watch watches processes that were let go on with a system call that may change their group,
// session or credentials. The kernel does not report whether and when the call has done so.
//
// No change may be missed or be taken for later than another: the front end's kernel allows a ghost
// what this kernel allowed the process only if all ghosts are where the processes were then. A
// change begins with a call that the supervisor receives. So before the supervisor lets the next
// call go on, it looks for the effects of the calls before. A routine that lets out something that
// a process may have said looks too. So does run a little later, for the processes that say
// nothing. A change that was seen has its place among the kernel's records.
type watch struct {
	process  func(wire.PID) (procevents.ProcessInfo, error) // its present state, also of a zombie
	position func() uint64                                  // of the kernel's next record
	led      func(sid, pgid wire.PID) error                 // keeps a group of the front end's session from being orphaned here
	count    atomic.Int32                                   // of watched processes; most of the time there are none
	wake     chan struct{}

	groups groups

	mu     sync.Mutex
	all    map[wire.PID]*watched
	recent []wire.PID // processes by their last call, the latest at the end
	seen   []sight    // changes that have not been taken, the oldest first
	most   int        // at so many, those that have passed are removed again
}

// watched is a process with calls under way.
type watched struct {
	was   traits
	calls int // without an effect so far
	begun time.Time
	at    uint64 // the kernel's records before the last call
	done  int    // number of lookTimes that have passed
}

// traits are the properties that such calls change.
type traits struct {
	pgid, sid   wire.PID
	user, group wire.IDs
}

// sight is a state in which a process was seen.
type sight struct {
	at uint64 // the kernel's records before it came first
	is procevents.ProcessInfo
}

// lookTimes are the times after a call at which watch looks at a process. Most calls have their
// effect at once, or never. The last times are for a machine that is so busy that the call has not
// gone on.
var lookTimes = [...]time.Duration{
	200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond,
	20 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second,
}

// lookAlways is how long after a call every look includes the process.
const lookAlways = time.Second

// Bounds. A process that called before the last few went on long ago. A change is taken within a
// millisecond. Where there are more than maxSeen all the same, a process keeps maxSights.
const (
	maxRecent = 16
	maxSeen   = 4096
	maxSights = 16
)

// withoutPassed removes states of processes that have changed very often: for each it keeps the
// last few. So a process that changes all the time makes nobody else's change be missed.
func withoutPassed(seen []sight) []sight {
	times := make(map[wire.PID]int)
	kept := make([]sight, 0, len(seen))
	for _, s := range slices.Backward(seen) {
		if times[s.is.PID]++; times[s.is.PID] <= maxSights {
			kept = append(kept, s)
		}
	}
	slices.Reverse(kept)
	return kept
}

func newWatch(process func(wire.PID) (procevents.ProcessInfo, error), position func() uint64, led func(sid, pgid wire.PID) error) *watch {
	return &watch{process: process, position: position, led: led, wake: make(chan struct{}, 1), all: make(map[wire.PID]*watched)}
}

func traitsOf(p *procevents.ProcessInfo) traits {
	return traits{pgid: p.PGID, sid: p.SID, user: p.User, group: p.Group}
}

// regroups watches a process whose group or session is about to change. Changes that other
// processes have made come first, since they may be what makes this one possible.
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
		is, err := w.process(pid)
		if err != nil {
			return
		}
		l = &watched{was: traitsOf(&is)}
	}
	l.calls++
	l.begun, l.done, l.at = time.Now(), 0, w.position()
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

// executed ends the watch of a process that executes another program since a position in the kernel's
// records: its calls before are over, and the record says what they did (execve(2)). One that was started
// from the front end may have made a group there, to which seeLocked must see.
func (w *watch) executed(pid wire.PID, at uint64) {
	if w.count.Load() == 0 || pid < pidmap.Node {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.all[pid]; l != nil && l.at <= at {
		delete(w.all, pid)
		w.count.Store(int32(len(w.all)))
	}
}

// seeLocked looks at a process. It ends the watch if no more change can come.
func (w *watch) seeLocked(pid wire.PID, l *watched) {
	is, err := w.process(pid)
	if errors.Is(err, procevents.ErrGone) {
		delete(w.all, pid)
	}
	if err != nil { // the next look may be more successful
		return
	}
	was := l.was
	l.was = traitsOf(&is)
	if l.was == was {
		return
	}
	if len(w.seen) >= max(maxSeen, w.most) {
		w.seen = withoutPassed(w.seen)
		w.most = 2 * len(w.seen)
	}
	w.seen = append(w.seen, sight{w.position(), is})
	if was.pgid != is.PGID && leads(&is) {
		_ = w.led(is.SID, is.PGID) // fails only if the space is about to end
	}
	if l.calls--; l.calls <= 0 {
		delete(w.all, pid)
	}
}

// look looks at the watched processes that are due.
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

// take removes and returns the changes before a position in the kernel's records.
func (w *watch) take(before uint64) (all []sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(w.seen) && w.seen[n].at <= before {
		n++
	}
	all, w.seen = w.seen[:n:n], w.seen[n:]
	if len(w.seen) == 0 {
		w.seen, w.most = nil, 0
	}
	return all
}

// next returns the time until the next look.
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

// run calls look, which must call w.look, whenever a look is due.
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
