package master

import (
	"errors"
	"io"
	"sync"

	"bproc/wire"
)

// maxOutbox bounds what may wait for one peer, in bytes. A peer that is so far
// behind is given up.
const maxOutbox = 64 << 20

var errOutboxFull = errors.New("peer does not take its messages")

// outbox collects frames for one peer. Put never waits; Run writes what has
// gathered since its last write in one go, so frames are batched under load and
// not delayed otherwise.
type outbox struct {
	w    io.Writer
	wake chan struct{}
	quit chan struct{}
	full func() // ends the connection to a peer that is given up

	mu     sync.Mutex
	buf    []byte // frames to be written
	err    error  // why nothing can be put any more
	closed bool
}

func newOutbox(w io.Writer, full func()) *outbox {
	return &outbox{w: w, full: full, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

// Put appends a frame.
func (o *outbox) Put(number uint64, m wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if len(o.buf) > maxOutbox {
		o.err = errOutboxFull
		o.full()
		return o.err
	}
	buf, err := wire.Append(o.buf, number, m)
	if err != nil {
		return err
	}
	o.buf = buf
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// Run writes frames until Close is called or a write ends with an error.
func (o *outbox) Run() error {
	var spare []byte
	for {
		select {
		case <-o.wake:
		case <-o.quit:
			return nil
		}
		o.mu.Lock()
		buf := o.buf
		o.buf = spare[:0]
		o.mu.Unlock()
		if len(buf) == 0 { // it went with the write before
			spare = buf
			continue
		}
		if _, err := o.w.Write(buf); err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			return err
		}
		if cap(buf) > 1<<20 {
			buf = nil
		}
		spare = buf
	}
}

// Close ends Run. What has not been written is dropped.
func (o *outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		if o.err == nil {
			o.err = io.ErrClosedPipe
		}
		close(o.quit)
	}
}
