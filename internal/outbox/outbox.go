// Package outbox collects messages for a peer and writes them in batches.
package outbox

import (
	"errors"
	"io"
	"sync"

	"bproc/wire"
)

// Bound is how much may wait for a peer, in bytes. One that is so far behind is
// given up.
const Bound = 64 << 20

var (
	// ErrFull ends the connection to a peer that does not take its messages.
	ErrFull = errors.New("the peer does not take its messages")
	// ErrClosed is for what is put while there is no connection.
	ErrClosed = errors.New("there is no connection to the peer")
)

// spareBytes is how large a buffer may have grown and still be used again.
const spareBytes = 1 << 20

// Outbox collects frames for one peer. Put never waits; Run, or a goroutine that Serve
// has started, writes what has gathered since its last write in one go, so frames are
// batched under load and not delayed otherwise.
type Outbox struct {
	wake chan struct{} // for Run
	full func()

	mu   sync.Mutex
	buf  []byte // frames to be written
	err  error  // why nothing can be put; nil while it is open
	busy bool   // a write is going on
	sink *sink  // nil: there is Run
}

// sink is where an outbox without Run writes to.
type sink struct {
	w      io.Writer
	begin  func(write func())
	failed func(error)
	writes bool // a goroutine writes; under mu of the outbox
}

// New returns an outbox that is not open yet. It calls full, which must not wait,
// each time that it gives up its peer.
func New(full func()) *Outbox {
	return &Outbox{wake: make(chan struct{}, 1), full: full, err: ErrClosed}
}

// Open begins a connection, with an empty outbox.
func (o *Outbox) Open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf, o.err = nil, nil
}

// Close ends a connection. What has not been written is dropped, and so is, with
// ErrClosed, what is put until the next Open.
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

// Put appends a message; number is that of a request or of the answer to it, or 0.
// The error is ErrFull from when the peer is given up, ErrClosed, or that of the
// connection's write. A message that has no frame (wire.ErrFrame) is left out, and
// changes nothing.
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

// Serve has what gathers written to w, in place of Run: begin is to call its argument on a
// goroutine of its own, which ends when there is nothing to be written. So a peer to which little is
// said costs no goroutine and no buffer. begin is not called any more after Close. failed is called
// with the error of a write, which is the last.
func (o *Outbox) Serve(w io.Writer, begin func(write func()), failed func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sink = &sink{w: w, begin: begin, failed: failed}
	if o.err == nil {
		o.wakeLocked()
	}
}

// drain writes until there is nothing to be written.
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

// takeOrEnd is take for drain, which ends when nothing has gathered.
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

// Idle reports whether everything that was put is written or dropped.
func (o *Outbox) Idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) == 0 && !o.busy
}

// Run writes to w what gathers, until done is closed or a write ends with an error,
// which it returns.
func (o *Outbox) Run(done <-chan struct{}, w io.Writer) error {
	var spare []byte
	for {
		select {
		case <-o.wake:
		case <-done:
			return nil
		}
		buf := o.take(spare)
		if len(buf) == 0 { // it went with the write before, or was dropped
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

// take returns what has gathered; spare takes what comes next.
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
