package pid1

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// statuses is the queue of statuses of launched processes to be reported, in the order in which the
// kernel gave them. The reaper does not wait for a daemon, which may not read or not be there. So
// the queue can have two entries for each launched process: its end, and the last stop or
// continuation before. Each stop or continuation replaces the one before, as for any parent that is
// late with wait.
//
// The lock is held from taking a status from the kernel until it is here, or with a launch under
// way. So a caller that looks at /proc first, and here then, has missed no process.
type statuses struct {
	mu    sync.Mutex
	queue []*status
	stops map[wire.PID]*status // entries of queue that are not ends
	more  chan struct{}        // holds one: something was put into queue
}

// status is what wait4(2) returned for a process.
type status struct {
	pid wire.PID
	waited
	launched bool // and not another process that had the number of a launch
}

// waited is the result of wait4(2).
type waited struct {
	is       unix.WaitStatus
	usage    wire.Usage // of a process that has ended
	withNode bool       // it was killed with all processes of the space
}

func (s *statuses) init() {
	s.stops = make(map[wire.PID]*status)
	s.more = make(chan struct{}, 1)
}

// putLocked queues a status.
func (s *statuses) putLocked(pid wire.PID, is waited, launched bool) {
	before, next := s.stops[pid], &status{pid, is, launched}
	switch {
	case over(is.is):
		delete(s.stops, pid) // the next status is about another process with the number
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

// first returns the status to report next. It stays in the queue until drop.
func (s *statuses) first() (next status, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue = nil
		return status{}, false
	}
	first := s.queue[0]
	if s.stops[first.pid] == first {
		delete(s.stops, first.pid) // the next status is reported after it
	}
	return *first, true
}

// drop removes the status that first has returned.
func (s *statuses) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue[0] = nil
	s.queue = s.queue[1:]
}

// pids returns the processes of the statuses in the queue.
func (s *statuses) pids() []wire.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := make([]wire.PID, len(s.queue))
	for i, next := range s.queue {
		pids[i] = next.pid
	}
	return pids
}

// tell reports the statuses of launched processes to daemons.
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
		if !in.order.status(next, in.statuses.drop) {
			return nil
		}
	}
}
