package master

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// birthsTime is when a client that waits for births is told that there are none. It asks
// again then.
const birthsTime = 5 * time.Minute

// births counts the processes of nodes that the core has come to know, for clients that
// wait for more. A birth is in the way of a launch: it costs an addition, and a wake-up if
// anybody waits. Who was woken up is for a while not there to be woken up again.
type births struct {
	count   atomic.Uint64
	awaited atomic.Bool
	waiting viewers

	mu   sync.Mutex
	bell chan struct{} // closed when there is a birth; nil: nobody waits
}

// newBirths returns a count that begins where no other has been: at the time, of which
// there are more nanoseconds than births.
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

// await returns the count when it is another than after, or when the context ends.
func (b *births) await(ctx context.Context, after uint64) uint64 {
	for {
		bell := b.rung()
		if count := b.count.Load(); count != after { // after awaited was set: who adds looks there then
			return count
		}
		select {
		case <-bell:
		case <-ctx.Done():
			return b.count.Load()
		}
	}
}

// rung returns what is closed at the next birth.
func (b *births) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bell == nil {
		b.bell = make(chan struct{})
		b.awaited.Store(true)
	}
	return b.bell
}

// births tells a client of births, when there are some.
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

// whileHere returns a context that ends after a time, and when the client has left or says
// more. The caller calls here before it answers.
func (c *clientConn) whileHere(ctx context.Context, limit time.Duration) (waiting context.Context, here func()) {
	ctx, cancel := context.WithTimeout(ctx, limit)
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
