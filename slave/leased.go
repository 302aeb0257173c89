package slave

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// leased says whether there are numbers for what a new process would fork. The master
// sends them before the first process, but on another stream: who reads that one may be
// faster, and what is forked then has a number that means nothing on the front end.
type leased struct {
	mu sync.Mutex
	is chan struct{} // closed while there are
}

// leaseTime is how long a new process waits for numbers that are on their way.
const leaseTime = 10 * time.Second

var errNotLeased = fmt.Errorf("the master has sent no process numbers: %w", unix.EAGAIN)

func newLeased() *leased { return &leased{is: make(chan struct{})} }

// set takes in whether there are numbers.
func (l *leased) set(are bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	were := false
	select {
	case <-l.is:
		were = true
	default:
	}
	switch {
	case are && !were:
		close(l.is)
	case were && !are:
		l.is = make(chan struct{})
	}
}

// await waits until there are numbers, for a limited time, or until ended is closed,
// which is no error.
func (l *leased) await(ended <-chan struct{}) error {
	l.mu.Lock()
	is := l.is
	l.mu.Unlock()
	select {
	case <-is: // nearly always
		return nil
	default:
	}
	timer := time.NewTimer(leaseTime)
	defer timer.Stop()
	select {
	case <-is:
		return nil
	case <-ended:
		return nil
	case <-timer.C:
		return errNotLeased
	}
}
