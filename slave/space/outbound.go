package space

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxOutbound bounds the requests that wait for bpinit, which is held with all others while the
// space is frozen.
const maxOutbound = 64 << 10

var errOutboundFull = fmt.Errorf("bpinit does not take requests: %w", unix.EAGAIN)

// outbound are the requests on their way to bpinit, in order. A request without descriptors does
// not block its caller, which may be the one that has to thaw the space.
type outbound struct {
	write func(number uint64, m wire.Message, fds ...int) error

	mu      sync.Mutex
	queue   []outgoing
	closed  bool
	writing bool           // a goroutine takes from the queue
	writers sync.WaitGroup // that goroutine
}

type outgoing struct {
	number uint64
	m      wire.Message
	fds    []int
	done   chan<- error // nil: the caller does not wait
	surely bool         // there is always room for it
}

// put queues a request. A failure to write it is not an error here: the connection has ended, and
// its reader reports that.
func (o *outbound) put(number uint64, m wire.Message) error {
	return o.add(outgoing{number: number, m: m})
}

// putSurely is put for a request for which there is always room: one that must not be lost, of which
// there are at most a few for each process.
func (o *outbound) putSurely(m wire.Message) error { return o.add(outgoing{m: m, surely: true}) }

// send is put for a request with descriptors, and waits until it is written.
func (o *outbound) send(number uint64, m wire.Message, fds []int) error {
	done := make(chan error, 1)
	if err := o.add(outgoing{number: number, m: m, fds: fds, done: done}); err != nil {
		return err
	}
	return <-done
}

// written waits until all requests so far are written.
func (o *outbound) written() error {
	o.mu.Lock()
	idle := !o.writing
	o.mu.Unlock()
	if idle {
		return nil
	}
	return o.send(0, &wire.InitForget{}, nil) // an empty request
}

func (o *outbound) add(out outgoing) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrGone
	}
	if len(o.queue) >= maxOutbound && !out.surely {
		return errOutboundFull
	}
	o.queue = append(o.queue, out)
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
			err := o.write(out.number, out.m, out.fds...)
			if out.done != nil {
				out.done <- err
			}
		}
	}
}

// close must be called when the connection is closed. It waits for the end of writing.
func (o *outbound) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.writers.Wait()
}
