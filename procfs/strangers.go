package procfs

import (
	"context"
	"sync"
	"time"

	"bproc/wire"
)

// strangers are processes of the real procfs that the source should know and does not: ghosts of
// processes born since nodes were last asked. Nodes are asked about them at once, no matter when
// they were last asked.
//
//	a listing, or a lookup, meets one --> question --> the refresher asks the nodes
//	    waits for at most strangerTime <-- done -------'
//
// One question is asked at a time; readers that meet other strangers meanwhile share the next.
type strangers struct {
	wanted chan struct{} // a reader waits for the next question

	mu    sync.Mutex
	asked map[wire.PID]time.Time // when a question about it was last put
	next  *question              // to be asked; nil: none
	last  *question              // being asked, or answered; never nil
}

// question is a question to all nodes.
type question struct{ done chan struct{} }

func newStrangers() *strangers {
	answered := &question{done: make(chan struct{})}
	close(answered.done)
	return &strangers{wanted: make(chan struct{}, 1), asked: map[wire.PID]time.Time{}, last: answered}
}

// Limits of time.
const (
	// strangerTime bounds a reader's wait for the nodes' answers about a stranger. It is shown as
	// its ghost then.
	strangerTime = 500 * time.Millisecond

	// again is the time after which nodes are asked again about a stranger that is still not known,
	// and for which the kernel caches its name.
	again = 100 * time.Millisecond

	// settled is how long a process must have been shown as a local one to be taken for one from
	// then on: a ghost is known by then, or is not urgent.
	settled = 2 * time.Second
)

// meet has nodes asked about the strangers among some processes of the real procfs, and waits for
// their answers until the context ends.
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

// stranger reports whether a process is a stranger.
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

// askAbout returns the question to wait for: a new one, unless one about this process was put just
// now.
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
		s.wanted <- struct{}{} // does not block: the question before it was taken
	}
	s.asked[pid] = now
	return s.next
}

// begin returns the question to ask now.
func (s *strangers) begin() *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.next = s.next, nil
	return s.last
}

// keep returns how long the kernel may cache the name of a process.
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
