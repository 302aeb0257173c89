package master

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// birthsTime is how long a client waits for births before it is told that there are none. It asks
// again then.
const birthsTime = 5 * time.Minute

// births counts the processes of nodes that the core has learned of, for clients that wait for
// more. It is part of every launch, so a birth costs only an addition, and a wake-up if a client
// waits. A client that was woken up takes a while to wait again.
type births struct {
	count   atomic.Uint64
	awaited atomic.Bool
	waiting viewers

	mu   sync.Mutex
	bell chan struct{} // closed at a birth; nil: nobody waits
}

// newBirths returns a count that begins where no former count has been: at the time in nanoseconds,
// since there are fewer births than that.
func newBirths(now time.Time) *births {
	b := new(births)
	b.count.Store(uint64(now.UnixNano()))
	return b
}

// add counts a birth.
func (b *births) add() {
	b.count.Add(1)
	if b.awaited.Load() {
		b.ring()
	}
}

func (b *births) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bell != nil {
		close(b.bell)
		b.bell = nil
		b.awaited.Store(false)
	}
}

// await returns the count when it differs from after, or when the context ends.
func (b *births) await(ctx context.Context, after uint64) uint64 {
	for {
		bell := b.rung()
		if count := b.count.Load(); count != after { // read after awaited is set: add looks there after it has counted
			return count
		}
		select {
		case <-bell:
		case <-ctx.Done():
			return b.count.Load()
		}
	}
}

// rung returns a channel that is closed at the next birth.
func (b *births) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bell == nil {
		b.bell = make(chan struct{})
		b.awaited.Store(true)
	}
	return b.bell
}

// births answers a client that waits for births.
func (c *clientConn) births(ctx context.Context, m *wire.Births) error {
	b := c.m.births
	leave, ok := b.waiting.enter(c.who.UID)
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	ctx, here := c.whileHere(ctx, birthsTime)
	count := b.await(ctx, m.After)
	here()
	return c.reply(&wire.Born{Count: count})
}

// whileHere is untilLeft with a time limit.
func (c *clientConn) whileHere(ctx context.Context, limit time.Duration) (waiting context.Context, here func()) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	waiting, stays := c.untilLeft(ctx)
	return waiting, func() {
		cancel()
		stays()
	}
}

// untilLeft returns a context that ends when the client leaves or sends more. The caller calls here
// before it answers.
func (c *clientConn) untilLeft(ctx context.Context) (waiting context.Context, here func()) {
	ctx, cancel := context.WithCancel(ctx)
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = c.conn.Read(make([]byte, 1))
		cancel()
	}()
	return ctx, func() {
		cancel()
		if err := c.conn.SetReadDeadline(time.Unix(1, 0)); err != nil { // ends the read
			c.conn.Close()
		}
		<-left
	}
}
