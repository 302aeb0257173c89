package slave

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// lease is how long processes may live on without word from the master. It goes on
// between two links.
type lease struct {
	log  *slog.Logger
	kill func(ctx context.Context) error // ends all processes
	end  func(at time.Time) error        // has init do so at a time, unless it is told of a later one

	mu      sync.Mutex
	link    heard     // the link there is, or was last; nil before the first
	expired bool      // at the last look
	ends    time.Time // what init was told last
}

// heard is what a lease needs of a link.
type heard interface {
	LastHeard() time.Time
	Lease() time.Duration
}

// renew goes on with the lease of another link.
func (l *lease) renew(link heard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link = link
	l.tellLocked()
}

// tellLocked tells init when the lease will have run out, should this daemon not live to
// look.
func (l *lease) tellLocked() {
	ends := l.link.LastHeard().Add(l.link.Lease())
	if ends.Equal(l.ends) {
		return
	}
	if err := l.end(ends); err != nil {
		l.log.Error("init does not know when the lease ends", "err", err)
	}
	l.ends = ends
}

// leaseLooks is how often in its time a lease is looked at, at least. The
// master's margin is for more than one look.
const leaseLooks = 30

// run looks after the lease for as long as the daemon lives: it may run out while
// the next link is being made.
func (l *lease) run(ctx context.Context) error {
	for {
		select {
		case <-time.After(l.look(ctx)):
		case <-ctx.Done():
			return nil
		}
	}
}

// look kills everything when the master has not been heard from for the time of
// the lease: soon it will call these processes dead. The link may go on after
// that, with an empty space. It returns when to look again.
func (l *lease) look(ctx context.Context) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link == nil {
		return redial
	}
	l.tellLocked()
	silent := time.Since(l.link.LastHeard()) >= l.link.Lease()
	known := l.expired
	l.expired = silent
	if silent && !known {
		l.log.Warn("no word from the master for the time of the lease; all processes are killed")
		if err := l.kill(ctx); err != nil {
			l.log.Error("processes could not be killed", "err", err)
		}
	}
	return min(l.link.Lease()/leaseLooks, redial) // the lease of the next link may be shorter
}
