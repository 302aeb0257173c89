package procfs

import (
	"context"
	"sync"
	"time"

	"bproc/wire"
)

// strangers are processes of the real procfs that the source has to know and does not:
// ghosts of what was born since nodes were asked last. About these nodes are asked at once,
// however short ago they were asked.
//
//	a listing, or a lookup, meets one --> question --> the refresher asks the nodes
//	    waits for at most strangerTime <-- done -------'
//
// One question is asked at a time; who meets another stranger meanwhile shares the next.
type strangers struct {
	wanted chan struct{} // somebody waits for the next question

	mu    sync.Mutex
	asked map[wire.PID]time.Time // when a question about it was put last
	next  *question              // to be asked; nil: nobody wants one
	last  *question              // that is being asked, or was; never nil
}

// question is one to all nodes.
type question struct{ done chan struct{} }

func newStrangers() *strangers {
	answered := &question{done: make(chan struct{})}
	close(answered.done)
	return &strangers{wanted: make(chan struct{}, 1), asked: map[wire.PID]time.Time{}, last: answered}
}

// Bounds on it.
const (
	// strangerTime is for how long a reader waits for what nodes say of a stranger. It is
	// shown as its ghost then.
	strangerTime = 500 * time.Millisecond

	// again is when nodes are asked again about one that is still not known, and for how
	// long the kernel takes it for what it seems to be.
	again = 100 * time.Millisecond

	// settled is how long a process must have been shown as a local one to be taken for
	// one from then on: a ghost is known by then, or not to be asked for in a hurry.
	settled = 2 * time.Second
)

// meet has nodes asked about those of some processes of the real procfs that are strangers,
// and waits for what they say, but no longer than the context lives.
func (v *View) meet(ctx context.Context, some ...entry) {
	if v.cfg.Awaited == nil {
		return
	}
	var q *question
	for _, e := range some {
		if pid := number(e.name); pid != 0 && v.stranger(pid, e.name) {
			q = v.strangers.askAbout(pid)
		}
	}
	if q == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, strangerTime)
	defer cancel()
	select {
	case <-q.done:
	case <-ctx.Done():
	}
}

// stranger reports whether a process is one.
func (v *View) stranger(pid wire.PID, name string) bool {
	if v.process(pid) != nil {
		return false
	}
	if n := v.table.placedAt(place{rootID, name}); n != nil {
		if d, local := n.file.(*localDir); local && time.Since(d.met) > settled {
			return false
		}
	}
	return v.cfg.Awaited(pid)
}

// askAbout returns the question to wait for: a new one, unless there was one about this
// process just now.
func (s *strangers) askAbout(pid wire.PID) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.next == nil {
		if now.Sub(s.asked[pid]) < again {
			return s.last
		}
		s.next = &question{done: make(chan struct{})}
		for other, at := range s.asked {
			if now.Sub(at) >= again {
				delete(s.asked, other)
			}
		}
		s.wanted <- struct{}{} // does not wait: for the question before it was taken
	}
	s.asked[pid] = now
	return s.next
}

// begin returns the question that is to be asked now.
func (s *strangers) begin() *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.next = s.next, nil
	return s.last
}

// keep returns for how long the kernel may take a process for what is known of it.
func (v *View) keep(pid wire.PID) time.Duration {
	if v.cfg.Awaited == nil || v.process(pid) != nil {
		return freshness
	}
	s := v.strangers
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := s.asked[pid]; is {
		return again
	}
	return freshness
}
