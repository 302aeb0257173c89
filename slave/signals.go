package slave

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"bproc/wire"
)

// signals knows which signals of the front end were given to processes. The front end
// repeats those of which it has not heard that they were.
type signals struct {
	tell func(m *wire.SignalsTaken)
	wake chan struct{}

	mu    sync.Mutex
	boot  uint64              // of the front end; numbers of signals are of one boot
	last  map[wire.PID]uint64 // given last, of at most maxLast processes
	marks map[wire.PID]uint64 // to be told
}

func newSignals(tell func(*wire.SignalsTaken)) *signals {
	return &signals{
		tell: tell, wake: make(chan struct{}, 1),
		last: make(map[wire.PID]uint64), marks: make(map[wire.PID]uint64),
	}
}

const maxLast = 10_000

// fresh reports whether a signal has not been given yet.
func (s *signals) fresh(m *wire.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ofLocked(m)
	return m.Seq == 0 || m.Seq > s.last[m.PID]
}

// ofLocked forgets what was of another boot of the front end: nobody waits for that.
func (s *signals) ofLocked(m *wire.Signal) {
	if m.Seq != 0 && m.Boot != s.boot {
		s.boot = m.Boot
		clear(s.last)
		clear(s.marks)
	}
}

// ended is for a process that has ended.
func (s *signals) ended(pid wire.PID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, pid)
}

// given is for a signal that was given, or was before.
func (s *signals) given(m *wire.Signal) {
	if m.Seq == 0 {
		return
	}
	s.mu.Lock()
	s.ofLocked(m)
	if len(s.last) == maxLast {
		clear(s.last) // init knows it too, of processes that live
	}
	s.last[m.PID] = max(m.Seq, s.last[m.PID])
	s.marks[m.PID] = s.last[m.PID]
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// gather is how long marks gather that are told at once.
const gather = time.Millisecond

// maxMarks bounds the marks of one message, far below what a frame may hold.
const maxMarks = 10_000

// run tells what was given.
func (s *signals) run(ctx context.Context) error {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
		marks, boot := s.marks, s.boot
		s.marks = make(map[wire.PID]uint64)
		s.mu.Unlock()
		var all []wire.Mark
		for _, pid := range slices.Sorted(maps.Keys(marks)) {
			all = append(all, wire.Mark{PID: pid, Seq: marks[pid]})
		}
		for part := range slices.Chunk(all, maxMarks) {
			s.tell(&wire.SignalsTaken{Marks: part, Boot: boot})
		}
	}
}
