package slave

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bproc/slave/procevents"
)

// maxBehind is by how many events the front end may be behind. Beyond that nobody in
// the space goes on until it has caught up with half of them: what it has to make up
// for is bounded, whatever the processes do.
const maxBehind = 20_000

// Births are held back for longer while the front end is behind by more than a little, up
// to maxHold when it is behind by half of maxBehind: what ends before it is told is
// nothing that the front end has to make up for.
const (
	littleBehind = 1024
	maxHold      = 200 * time.Millisecond
)

// behind holds the processes of the space while the front end does not follow.
type behind struct {
	log    *slog.Logger
	freeze func() error
	thaw   func() error
	wake   chan struct{}

	last atomic.Uint64 // event told
	done atomic.Uint64 // event with which the front end has caught up

	mu     sync.Mutex // held while processes are held or let go
	frozen bool
	ending bool // all processes were killed, and frozen ones do not die
}

func newBehind(log *slog.Logger, freeze, thaw func() error) *behind {
	return &behind{log: log, freeze: freeze, thaw: thaw, wake: make(chan struct{}, 1)}
}

// told takes in the number of the last event that was told.
func (b *behind) told(last uint64) {
	b.last.Store(last)
	if b.by() > maxBehind {
		b.look()
	}
}

// progress takes in the number of an event with which the front end has caught up.
func (b *behind) progress(event uint64) {
	b.done.Store(event)
	if b.by() <= maxBehind/2 {
		b.look()
	}
}

// begin is for a new session, whose events are numbered anew.
func (b *behind) begin() {
	b.last.Store(0)
	b.done.Store(0)
	b.look()
}

func (b *behind) by() uint64 {
	last, done := b.last.Load(), b.done.Load()
	return max(last, done) - done
}

// hold returns how long births are to be held back now.
func (b *behind) hold() time.Duration {
	const all = maxBehind/2 - littleBehind
	by := min(max(b.by(), littleBehind)-littleBehind, all)
	return procevents.DefaultHold + (maxHold-procevents.DefaultHold)*time.Duration(by)/all
}

func (b *behind) look() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run holds the processes and lets them go.
func (b *behind) run(ctx context.Context) error {
	for {
		select {
		case <-b.wake:
			b.act()
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *behind) act() {
	b.mu.Lock()
	defer b.mu.Unlock()
	by := b.by()
	switch {
	case by > maxBehind && !b.frozen && !b.ending:
		b.frozen = true
		b.log.Warn("the front end does not follow; the node's processes are held until it has caught up", "events", by)
		if err := b.freeze(); err != nil {
			b.log.Error("processes could not be held", "err", err)
		}
	case by <= maxBehind/2:
		b.ending = false
		if b.frozen {
			b.letGoLocked()
		}
	}
}

func (b *behind) letGoLocked() {
	b.frozen = false
	if err := b.thaw(); err != nil {
		b.log.Error("processes could not be let go on", "err", err)
	}
}

// killing lets go of all processes and calls kill, which ends them. From then on they
// are not held until the front end has caught up.
func (b *behind) killing(kill func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ending = true
	if b.frozen {
		b.letGoLocked()
	}
	return kill()
}
