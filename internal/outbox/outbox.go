// Package outbox collects messages for a peer and writes them in batches.
package outbox

import (
	"errors"
	"io"
	"sync"

	"bproc/wire"
)

// Bound is how many bytes may wait for a peer. A peer that is further behind is given up.
const Bound = 64 << 20

var (
	// ErrFull is the error for a peer that does not take its messages, which ends its connection.
	ErrFull = errors.New("the peer does not take its messages")
	// ErrClosed is the error of Put while there is no connection.
	ErrClosed = errors.New("there is no connection to the peer")
)

// spareBytes is the greatest capacity of a buffer that is used again.
const spareBytes = 1 << 20

// Outbox collects frames for one peer. Put never blocks. Run, or a goroutine started through Serve,
// writes all frames collected since its last write at once, so frames are batched under load and
// not delayed otherwise.
type Outbox struct {
	wake chan struct{} // for Run
	full func()

	mu   sync.Mutex
	buf  []byte // frames to be written
	err  error  // why Put fails; nil while the outbox is open
	busy bool   // a write is under way
	sink *sink  // nil if Run writes
}

// sink is the destination of an outbox without Run.
type sink struct {
	w      io.Writer
	begin  func(write func())
	failed func(error)
	writes bool // a goroutine writes; guarded by mu of the outbox
}

// New returns an outbox that is not open yet. It calls full, which must not block, each time it
// gives up its peer.
func New(full func()) *Outbox {
	return &Outbox{wake: make(chan struct{}, 1), full: full, err: ErrClosed}
}

// Open begins a connection with an empty outbox.
func (o *Outbox) Open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf, o.err = nil, nil
}

// Close ends a connection. Frames that were not written are dropped. Put returns ErrClosed until
// the next Open.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(ErrClosed)
}

func (o *Outbox) end(err error) {
	o.buf = nil
	if o.err == nil {
		o.err = err
	}
}

// Put appends a message. number is that of a request or its answer, or 0. Put returns ErrFull once
// the peer is given up, ErrClosed, or the error of a write to the connection. A message that cannot
// be encoded (wire.ErrFrame) is left out and has no effect.
func (o *Outbox) Put(number uint64, m wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if len(o.buf) > Bound {
		o.end(ErrFull)
		o.full()
		return o.err
	}
	buf, err := wire.Append(o.buf, number, m)
	if err != nil {
		return err
	}
	o.buf = buf
	o.wakeLocked()
	return nil
}

func (o *Outbox) wakeLocked() {
	if s := o.sink; s != nil {
		if !s.writes && len(o.buf) > 0 {
			s.writes = true
			s.begin(func() { o.drain(s) })
		}
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Serve makes the outbox write to w, in place of Run. begin must call its argument on another
// goroutine, which ends when nothing is left to write. So a peer with little traffic costs no
// goroutine and no buffer. begin is not called after Close. failed is called with the error of a
// write, which is the last one.
func (o *Outbox) Serve(w io.Writer, begin func(write func()), failed func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sink = &sink{w: w, begin: begin, failed: failed}
	if o.err == nil {
		o.wakeLocked()
	}
}

// drain writes until nothing is left to write.
func (o *Outbox) drain(s *sink) {
	var spare []byte
	for {
		buf := o.takeOrEnd(s, spare)
		if buf == nil {
			return
		}
		_, err := s.w.Write(buf)
		o.wrote(err)
		if err != nil {
			s.failed(err)
			return
		}
		spare = buf
	}
}

// takeOrEnd is take for drain, which ends if the outbox is empty.
func (o *Outbox) takeOrEnd(s *sink, spare []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) == 0 {
		s.writes, o.buf = false, nil
		return nil
	}
	buf := o.buf
	o.buf, o.busy = spare[:0], true
	return buf
}

// IsOpen reports whether there is a connection that has not failed.
func (o *Outbox) IsOpen() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil
}

// Idle reports whether all frames are written or dropped.
func (o *Outbox) Idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) == 0 && !o.busy
}

// Run writes collected frames to w, until done is closed or a write fails. It returns the error of
// the write.
func (o *Outbox) Run(done <-chan struct{}, w io.Writer) error {
	var spare []byte
	for {
		select {
		case <-o.wake:
		case <-done:
			return nil
		}
		buf := o.take(spare)
		if len(buf) == 0 { // written together with earlier frames, or dropped
			spare = buf
			continue
		}
		_, err := w.Write(buf)
		o.wrote(err)
		if err != nil {
			return err
		}
		spare = buf
		if cap(spare) > spareBytes {
			spare = nil
		}
	}
}

// take returns the collected frames, and makes spare the next buffer.
func (o *Outbox) take(spare []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := o.buf
	o.buf, o.busy = spare[:0], len(buf) > 0
	return buf
}

func (o *Outbox) wrote(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	if err != nil {
		o.end(err)
	}
}
