package slave

import (
	"io"
	"sync"

	"bproc/wire"
)

// outbox collects frames for the control stream. put never waits, so that the
// recorder, which numbers events under its lock, never does. What is put while
// there is no stream is dropped: the inventory of the next one says it all.
type outbox struct {
	wake chan struct{}

	mu   sync.Mutex
	buf  []byte
	open bool
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

func (o *outbox) put(m wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.open {
		return nil
	}
	buf, err := wire.Append(o.buf, 0, m)
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
		o.buf = spare[:0]
		o.mu.Unlock()
		if len(buf) == 0 {
			spare = buf
			continue
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		if cap(buf) > 1<<20 {
			buf = nil
		}
		spare = buf
	}
}
