package master

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// barrier holds back what a node says until the front end has caught up with
// the process events before it. Events are numbered; the barrier stands at the
// last one of which, and of all before it, the consequences are in place.
type barrier struct {
	at atomic.Uint64

	mu     sync.Mutex
	moved  chan struct{} // closed and replaced when the barrier moves; nil while nobody waits
	broken bool
}

// Passed reports whether event number n has taken effect. It is cheap: one
// atomic load, for every frame of data.
func (b *barrier) Passed(n uint64) bool { return n <= b.at.Load() }

// Move puts the barrier at event number n.
func (b *barrier) Move(n uint64) {
	if n <= b.at.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at.Store(n)
	b.wakeLocked()
}

// errBroken is why a frame that waits at the barrier does not pass: its session has
// ended. Nobody has said to have it, so the node says it again in the next.
var errBroken = errors.New("the session with the node has ended")

// Break turns everybody away: the session's events have come to their end.
func (b *barrier) Break() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
	b.wakeLocked()
}

func (b *barrier) wakeLocked() {
	if b.moved != nil {
		close(b.moved)
		b.moved = nil
	}
}

// Wait waits until event number n has taken effect.
func (b *barrier) Wait(ctx context.Context, n uint64) error {
	for {
		b.mu.Lock()
		if n <= b.at.Load() {
			b.mu.Unlock()
			return nil
		}
		if b.broken {
			b.mu.Unlock()
			return errBroken
		}
		if b.moved == nil {
			b.moved = make(chan struct{})
		}
		moved := b.moved
		b.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
