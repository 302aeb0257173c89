package ghost

import (
	"iter"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// worker carries out requests on the thread of a shard. It is a coroutine: when a ghost does not
// stop at once, the worker pauses until it does, and another worker goes on with the requests for
// other ghosts.
type worker struct {
	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool

	request *request  // being carried out
	tree    *tree     // that it has been waiting for, if any
	on      wire.PID  // ghost whose stop it waits for; 0: none
	begun   time.Time // when it first had to wait for this request
	since   time.Time // no ghost that it waits for has stopped since
	until   time.Time // when it goes on by itself; zero: never
}

// restAfter is how many waiting requests of a tree a worker carries out before other trees get a
// turn.
const restAfter = 64

// switchTo runs a worker until it waits, or has no work left.
func (s *shard) switchTo(w *worker) {
	s.worker = w
	w.next()
	s.worker = nil
}

// idleWorker returns a worker without work.
func (s *shard) idleWorker() *worker {
	if n := len(s.idle); n > 0 {
		w := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return w
	}
	w := new(worker)
	w.next, w.end = iter.Pull(func(yield func(struct{}) bool) {
		w.yield = yield
		for {
			s.work(w)
			s.idle = append(s.idle, w)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return w
}

// work carries out the requests in the queue. A worker that had to wait carries out only the
// requests that have waited with it.
func (s *shard) work(w *worker) {
	for w.tree == nil && !s.ended && s.more() {
		r := s.take()
		s.turn(w, &r)
	}
	if w.tree != nil {
		s.catchUp(w)
	}
}

// turn carries out a request, unless it has to wait for its tree.
func (s *shard) turn(w *worker, r *request) {
	switch t := s.treeOf(r.msg); {
	case r.msg == nil:
		s.settled(r)
		return
	case t != nil && t.at != nil:
		s.putBehind(t, *r)
		return
	}
	w.request = r
	s.offered, s.standing = s.standing, nil
	s.handle(r)
	if s.offered != nil {
		s.offered.letGo()
		s.offered = nil
	}
}

// catchUp carries out the requests about a tree that came while one of its ghosts was waited for.
func (s *shard) catchUp(w *worker) {
	t := w.tree
	for n := 1; len(t.waiting) > 0 && !s.ended; n++ {
		if n%restAfter == 0 {
			s.ticks.due.Store(true) // it goes on when the queue is empty
			_ = s.leave(w, 0, time.Now())
			continue
		}
		r := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.size -= r.size()
		w.request, t.late, t.stuck = &r, false, false
		w.begun = time.Now()
		w.since = w.begun
		s.handle(&r)
	}
	s.allMade(t)
	t.at, t.waiting = nil, nil
	t.late, t.stuck, t.early = false, false, 0
	w.tree, w.request = nil, nil
}

// park makes the worker wait until a ghost has stopped or ended, or until a time. The tree is the
// ghost's.
func (s *shard) park(pid wire.PID, t *tree, until time.Time) error {
	w := s.worker
	if w.tree == nil {
		if of := s.treeOf(w.request.msg); of != nil {
			t = of
		}
		w.tree, w.begun, t.at = t, time.Now(), w
		w.since = w.begun
	}
	if pid != 0 {
		w.since = time.Now()
	}
	if m, ok := w.request.msg.(*wire.GhostAdopt); ok && s.ghosts[m.PID] == nil {
		s.announce(t, m.PID)
	}
	offered := s.offered
	s.offered = nil
	err := s.leave(w, pid, until)
	s.offered, s.upcoming = offered, 0
	return err
}

// leave suspends a worker.
func (s *shard) leave(w *worker, on wire.PID, until time.Time) error {
	if s.ended {
		return errHeld
	}
	w.on, w.until = on, until
	s.away = append(s.away, w)
	s.tickAfter(tickTime)
	if !w.yield(struct{}{}) {
		s.ended = true
		return errHeld
	}
	return nil
}

// wake resumes the workers that wait for a ghost, and reports whether there are any.
func (s *shard) wake(pid wire.PID) bool {
	return s.goOnWith(func(w *worker) bool { return w.on == pid })
}

// goOnWith resumes the workers that which selects. It calls which once for each: its result may
// change at any moment.
func (s *shard) goOnWith(which func(*worker) bool) bool {
	var back []*worker
	kept := s.away[:0]
	for _, w := range s.away {
		if which(w) {
			back = append(back, w)
		} else {
			kept = append(kept, w)
		}
	}
	clear(s.away[len(kept):])
	s.away = kept
	for _, w := range back {
		s.switchTo(w)
	}
	return len(back) > 0
}

// dismiss ends the workers.
func (s *shard) dismiss() {
	s.ended = true
	for _, w := range slices.Concat(s.away, s.idle) {
		s.worker = w
		w.end()
	}
	s.worker, s.away, s.idle = nil, nil, nil
}

// awaitStop waits until a ghost has stopped or ended.
func (s *shard) awaitStop(g *held) (unix.WaitStatus, error) {
	options := 0
	if s.ended {
		return 0, errHeld
	}
	if s.worker != nil && g.tree.late {
		options = unix.WNOHANG
	}
	for {
		got, status, err := s.await(g.pid, options)
		if err != nil && err != errSlow || got != 0 { //nolint:errorlint // it is never wrapped
			return status, err
		}
		if err := s.park(g.pid, g.tree, time.Time{}); err != nil {
			return 0, err
		}
		options = unix.WNOHANG
	}
}

// pause waits while a ghost runs. A worker sleeps for the first prodTime, and after that serves other ghosts.
// Without a worker, as in tests, the thread sleeps for the whole time.
func (s *shard) pause(g *held, before, pause time.Duration) error {
	switch {
	case s.ended:
		return errHeld
	case s.worker == nil:
		time.Sleep(pause)
	case before < prodTime:
		time.Sleep(min(pause, prodTime))
	default:
		return s.park(0, g.tree, time.Now().Add(pause))
	}
	return nil
}
