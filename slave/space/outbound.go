package space

import (
	"errors"
	"sync"

	"bproc/wire"
)

// maxOutbound bounds the requests that wait for bpinit, which is held with all others
// while the space is frozen.
const maxOutbound = 64 << 10

var errOutboundFull = errors.New("bpinit does not take requests")

// outbound are the requests without descriptors that are on their way to bpinit.
// Whoever makes one does not wait: it may be what thaws the space that has to.
type outbound struct {
	write func(number uint64, m wire.Message) error

	mu      sync.Mutex
	queue   []outgoing
	closed  bool
	writing bool           // somebody takes from the queue
	writers sync.WaitGroup // that somebody
}

type outgoing struct {
	number uint64
	m      wire.Message
}

// put sends a request after those before it. That it could not be written is not an
// error here: the connection has ended, and its reader says so.
func (o *outbound) put(number uint64, m wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrGone
	}
	if len(o.queue) >= maxOutbound {
		return errOutboundFull
	}
	o.queue = append(o.queue, outgoing{number, m})
	if !o.writing {
		o.writing = true
		o.writers.Go(o.flush)
	}
	return nil
}

func (o *outbound) flush() {
	for {
		o.mu.Lock()
		queue := o.queue
		o.queue = nil
		o.writing = len(queue) > 0
		o.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, out := range queue {
			if o.write(out.number, out.m) != nil {
				break
			}
		}
	}
}

// close is for when the connection is closed, and waits for the end of writing.
func (o *outbound) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.writers.Wait()
}
