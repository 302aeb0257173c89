// Package outbox collects messages for a peer and writes them in batches.
package outbox

import (
	"bytes"
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

// Outbox collects frames for one peer. Put never blocks. All frames that were collected since the
// last write are written at once, so frames are batched under load and not delayed otherwise: by Run,
// by a goroutine that is there only while there is something to write (Serve), or by the goroutine
// that calls Flush.
type Outbox struct {
	wake chan struct{} // for Run
	full func()

	mu      sync.Mutex
	buf     []byte           // frames to be written
	torn    int              // bytes of buf that are already written
	err     error            // why Put fails; nil while the outbox is open
	busy    bool             // a write is under way
	flushed bool             // Flush is called after each Put, or several
	direct  func([]byte) int // for Flush; nil: Run writes, or there is no Run
	sink    *sink            // nil if Run writes
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
	o.buf, o.torn, o.err = nil, 0, nil
}

// Close ends a connection, and returns the frames that were not written whole. Put returns
// ErrClosed until the next Open, or the error that has ended the connection before.
func (o *Outbox) Close() (rest []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest = after(o.buf, o.torn)
	o.buf, o.torn, o.direct = nil, 0, nil
	if o.err == nil {
		o.err = ErrClosed
	}
	return rest
}

// after returns the frames that end after the first n bytes.
func after(frames []byte, n int) []byte {
	for n > 0 && len(frames) > 0 {
		h, err := wire.ParseHeader(frames)
		size := wire.HeaderSize + int(h.Length)
		if err != nil || size > n {
			break
		}
		frames, n = frames[size:], n-size
	}
	return frames
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
		o.err = ErrFull
		o.full()
		return o.err
	}
	buf, err := wire.Append(o.buf, number, m)
	if err != nil {
		return err
	}
	o.buf = buf
	switch {
	case o.sink != nil:
		o.startLocked()
	case !o.flushed:
		o.wakeLocked()
	}
	return nil
}

func (o *Outbox) wakeLocked() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Flush writes what was put, as far as the connection takes it without waiting: waking another
// thread would cost more than the write. Run does the rest. Only an outbox of which Run has a try
// needs it.
func (o *Outbox) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) == 0 {
		return
	}
	if o.direct != nil && o.torn == 0 && o.err == nil {
		o.torn = o.direct(o.buf)
		if o.torn == len(o.buf) {
			o.buf, o.torn = reusable(o.buf), 0
			return
		}
	}
	o.wakeLocked()
}

// Run writes collected frames to w, until done is closed, the outbox is closed or a write fails, and
// returns why it failed. With try, Flush writes most of them, and each Put must be followed by a
// Flush: try writes what w takes without waiting, and returns the number of bytes; an error appears
// at the next write to w.
func (o *Outbox) Run(done <-chan struct{}, w io.Writer, try func([]byte) int) error {
	var spare []byte
	for {
		buf, torn, err := o.take(spare, try)
		switch {
		case errors.Is(err, ErrClosed):
			return nil
		case err != nil:
			return err
		}
		if len(buf) > 0 {
			n, err := w.Write(buf[torn:])
			o.wrote(buf, torn+n, err)
			if err != nil {
				return err
			}
			spare = reusable(buf)
			continue
		}
		spare = buf
		select {
		case <-o.wake:
		case <-done:
			return nil
		}
	}
}

// take returns the collected frames and the number of bytes already written, and makes spare the
// next buffer. If there are none, Flush may write.
func (o *Outbox) take(spare []byte, try func([]byte) int) (buf []byte, torn int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		o.direct = nil
		return nil, 0, o.err
	}
	buf, torn = o.buf, o.torn
	o.buf, o.torn, o.direct, o.busy, o.flushed = spare, 0, nil, true, try != nil
	if len(buf) == 0 {
		o.direct, o.busy = try, false
	}
	return buf, torn, nil
}

// wrote handles the end of a write of buf, of which n bytes are written by now.
func (o *Outbox) wrote(buf []byte, n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	if err == nil || errors.Is(o.err, ErrClosed) {
		return
	}
	o.buf = append(bytes.Clone(after(buf, n)), o.buf...) // for Close
	if o.err == nil {
		o.err = err
	}
}

// reusable returns an empty buffer with the memory of one that is not needed any more, unless that is
// large.
func reusable(buf []byte) []byte {
	if cap(buf) > spareBytes {
		return nil
	}
	return buf[:0]
}

// Idle reports whether all frames are written, or will never be.
func (o *Outbox) Idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.busy && (len(o.buf) == 0 || o.err != nil)
}

// IsOpen reports whether there is a connection that has not failed.
func (o *Outbox) IsOpen() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil
}
