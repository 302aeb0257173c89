package slave

import (
	"errors"
	"io"
	"sync"

	"bproc/wire"
)

// maxOutbox bounds what may wait for the master, in bytes. A session that is so
// far behind ends; the inventory of the next one makes up for what was not told.
const maxOutbox = 64 << 20

var errOutboxFull = errors.New("the master does not take what happens")

// outbox collects frames for the control stream. put never waits, so that the
// recorder, which numbers events under its lock, never does. What is put while
// there is no stream is dropped: the inventory of the next one says it all.
type outbox struct {
	wake chan struct{}
	full func() // ends the session; must not wait

	mu   sync.Mutex
	buf  []byte
	open bool
	busy bool // a write is going on
}

func newOutbox(full func()) *outbox { return &outbox{wake: make(chan struct{}, 1), full: full} }

func (o *outbox) put(m wire.Message) error { return o.request(0, m) }

// request is put for a request with this number.
func (o *outbox) request(number uint64, m wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.open {
		return nil
	}
	if len(o.buf) > maxOutbox {
		o.buf, o.open = nil, false
		o.full()
		return nil
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

// start begins with an empty outbox whose first frame is m.
func (o *outbox) start(m wire.Message) error {
	o.mu.Lock()
	o.buf, o.open = nil, true
	o.mu.Unlock()
	return o.put(m)
}

func (o *outbox) stop() {
	o.mu.Lock()
	o.buf, o.open = nil, false
	o.mu.Unlock()
}

// idle reports whether everything that was put is written or dropped.
func (o *outbox) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) == 0 && !o.busy
}

// run writes what gathers until done is closed or a write ends with an error.
func (o *outbox) run(done <-chan struct{}, w io.Writer) error {
	var spare []byte
	for {
		select {
		case <-o.wake:
		case <-done:
			return nil
		}
		o.mu.Lock()
		buf := o.buf
		o.buf, o.busy = spare[:0], len(buf) > 0
		o.mu.Unlock()
		if len(buf) == 0 {
			spare = buf
			continue
		}
		_, err := w.Write(buf)
		o.mu.Lock()
		o.busy = false
		o.mu.Unlock()
		if err != nil {
			return err
		}
		if cap(buf) > 1<<20 {
			buf = nil
		}
		spare = buf
	}
}
