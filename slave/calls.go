package slave

import (
	"context"
	"maps"
	"slices"
	"sync"

	"bproc/wire"
)

// calls are the system calls that the front end carries out for processes of the
// space. A call outlives the session in which it was made: one that has had no answer
// when its session ends is made again in the next.
type calls struct {
	out outlet

	mu      sync.Mutex             // held while one is put into out
	waiting map[uint64]waitingCall // by number
}

type waitingCall struct {
	call   *wire.Call
	answer chan *wire.Return
}

// make makes a call of a number that no other has, and waits for the answer. What
// happened before must have been told.
func (c *calls) make(ctx context.Context, number uint64, call *wire.Call) (*wire.Return, error) {
	w := waitingCall{call, make(chan *wire.Return, 1)}
	defer c.leave(number)
	if err := c.enter(number, w); err != nil {
		return nil, err
	}
	select {
	case r := <-w.answer:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *calls) enter(number uint64, w waitingCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = make(map[uint64]waitingCall)
	}
	c.waiting[number] = w
	return c.out.request(number, w.call)
}

func (c *calls) leave(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, number)
}

// returned takes an answer. Nobody may wait for it any more.
func (c *calls) returned(number uint64, r *wire.Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.waiting[number]; ok {
		delete(c.waiting, number)
		w.answer <- r
	}
}

// begin begins a session by start, and makes the calls again that wait.
func (c *calls) begin(start func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := start(); err != nil {
		return err
	}
	for _, number := range slices.Sorted(maps.Keys(c.waiting)) {
		if err := c.out.request(number, c.waiting[number].call); err != nil {
			return err
		}
	}
	return nil
}
