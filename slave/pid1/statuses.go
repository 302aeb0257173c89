package pid1

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// statuses is what is to be told of launched processes, in the order in which the kernel
// told it. The reaper does not wait for a daemon, which may not read or not be there, so
// this can be as long as two for each launched process: its end and the last stop or
// continuation before, for one replaces the other, as they do for any parent that is late
// with wait.
//
// The lock is held from taking a status from the kernel until it is here, or with a
// launch under way: so who looks at /proc first, and here then, has missed nobody.
type statuses struct {
	mu    sync.Mutex
	queue []*status
	stops map[wire.PID]*status // those of queue that have not ended a process
	more  chan struct{}        // holds one: something was put into queue
}

// status is what wait4(2) said of a process.
type status struct {
	pid wire.PID
	waited
	launched bool // and not another process that had the number of a launch
}

// waited is what wait4(2) gives.
type waited struct {
	is    unix.WaitStatus
	usage wire.Usage // of a process that has ended
}

func (s *statuses) init() {
	s.stops = make(map[wire.PID]*status)
	s.more = make(chan struct{}, 1)
}

// putLocked has a status told.
func (s *statuses) putLocked(pid wire.PID, is waited, launched bool) {
	before, next := s.stops[pid], &status{pid, is, launched}
	switch {
	case over(is.is):
		delete(s.stops, pid) // what comes next is about another process of the number
	case before != nil:
		before.waited = is
		return
	default:
		s.stops[pid] = next
	}
	s.queue = append(s.queue, next)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// first returns the status that is to be told next, which stays until drop.
func (s *statuses) first() (next status, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue = nil
		return status{}, false
	}
	first := s.queue[0]
	if s.stops[first.pid] == first {
		delete(s.stops, first.pid) // what comes next is told after it
	}
	return *first, true
}

// drop takes out the status that first has returned.
func (s *statuses) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue[0] = nil
	s.queue = s.queue[1:]
}

// pids returns of whom there is something to be told.
func (s *statuses) pids() []wire.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := make([]wire.PID, len(s.queue))
	for i, next := range s.queue {
		pids[i] = next.pid
	}
	return pids
}

// tell tells daemons of launched processes.
func (in *Init) tell(ctx context.Context) error {
	for {
		next, ok := in.statuses.first()
		if !ok {
			select {
			case <-in.statuses.more:
			case <-ctx.Done():
				return nil
			}
			continue
		}
		if !in.order.status(next) {
			return nil
		}
		in.statuses.drop()
	}
}
