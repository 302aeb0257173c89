package bpjob

import (
	"context"
	"sync"
	"time"

	"bproc/internal/job/place"
)

const (
	// startsAtOnce is how many processes of an owner of job files are started at the same time.
	startsAtOnce = 8
	// startLimit bounds the time of a start, whose supervisor continues.
	startLimit = 5 * time.Minute
)

// starts are the starts of processes that are under way. One that hangs holds up no other process,
// and the processes of one owner do not hold up those of another.
type starts struct {
	start func(ctx context.Context, p place.Process, owner uint32, since time.Time) (done bool)
	tasks sync.WaitGroup

	mu    sync.Mutex
	under map[place.Process]bool // with a start under way; true: another one is due if that fails
	slots map[uint32]chan struct{}
}

func newStarts(start func(context.Context, place.Process, uint32, time.Time) bool) *starts {
	return &starts{start: start, under: make(map[place.Process]bool), slots: make(map[uint32]chan struct{})}
}

// underWay reports whether a process is being started. If again is true, and that fails, it is
// started again.
func (s *starts) underWay(p place.Process, again bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.under[p]
	if is && again {
		s.under[p] = true
	}
	return is
}

// begin starts a process that is not being started, for the owner of its job file. It may have to wait
// for other starts: since is when it began to.
func (s *starts) begin(ctx context.Context, p place.Process, owner uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.slots[owner]
	if slot == nil {
		slot = make(chan struct{}, startsAtOnce)
		s.slots[owner] = slot
	}
	s.under[p] = false
	since := time.Now()
	s.tasks.Go(func() {
		for again := true; again; {
			slot <- struct{}{}
			done := s.start(ctx, p, owner, since)
			<-slot
			again = s.over(p, done || ctx.Err() != nil)
		}
	})
}

// over takes in the end of a start, and reports whether another one is due.
func (s *starts) over(p place.Process, done bool) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if again = s.under[p] && !done; again {
		s.under[p] = false
	} else {
		delete(s.under, p)
	}
	return again
}
