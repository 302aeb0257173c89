package slave

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// supply tells whether there are numbers for the forks of a new process. The master sends numbers
// before the first process, but on another stream. The reader of the process's stream may be
// faster, and a process forked then has a number that means nothing on the front end.
type supply struct {
	mu sync.Mutex
	is chan struct{} // closed while there are numbers
}

// supplyTime is how long a new process waits for numbers that are on their way.
const supplyTime = 10 * time.Second

var errNoNumbers = fmt.Errorf("the master has sent no process numbers: %w", unix.EAGAIN)

func newSupply() *supply { return &supply{is: make(chan struct{})} }

// set takes in whether there are numbers.
func (s *supply) set(are bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	were := false
	select {
	case <-s.is:
		were = true
	default:
	}
	switch {
	case are && !were:
		close(s.is)
	case were && !are:
		s.is = make(chan struct{})
	}
}

// await waits until there are numbers, for a limited time, or until ended is closed,
// which is no error.
func (s *supply) await(ended <-chan struct{}) error {
	s.mu.Lock()
	is := s.is
	s.mu.Unlock()
	select {
	case <-is: // the usual case
		return nil
	default:
	}
	timer := time.NewTimer(supplyTime)
	defer timer.Stop()
	select {
	case <-is:
		return nil
	case <-ended:
		return nil
	case <-timer.C:
		return errNoNumbers
	}
}
