package ghost

import (
	"io"
	"log/slog"
	"sync"

	"bproc/wire"
)

// maxEvents bounds what waits for a master, in bytes: some 400,000 signals. It
// takes a master that is gone and a storm of signals to reach it.
const maxEvents = 64 << 20

// outbox keeps what the keeper has to say until a master takes it, in order.
type outbox struct {
	log  *slog.Logger
	wake chan struct{}

	mu   sync.Mutex
	buf  []byte
	full bool
}

func newOutbox(log *slog.Logger) *outbox {
	return &outbox{log: log, wake: make(chan struct{}, 1)}
}

// put appends a message. It never waits: shards call it.
func (o *outbox) put(number uint64, m wire.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) > maxEvents {
		if !o.full {
			o.log.Error("events are lost: no master has taken them for too long")
		}
		o.full = true
		return
	}
	buf, err := wire.Append(o.buf, number, m)
	if err != nil {
		o.log.Error("an event is lost", "msg", m.Type(), "err", err)
		return
	}
	o.buf = buf
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// write writes what comes to w until done is closed or a write ends with an
// error. What was not written is kept, but for answers, which nobody waits for
// any more.
func (o *outbox) write(done <-chan struct{}, w io.Writer) error {
	var spare []byte
	for {
		o.mu.Lock()
		buf := o.buf
		o.buf, o.full = spare[:0], false
		o.mu.Unlock()
		if len(buf) > 0 {
			if n, err := w.Write(buf); err != nil {
				o.putBack(buf, n)
				return err
			}
		}
		spare = buf
		if cap(spare) > 1<<20 {
			spare = nil
		}
		select {
		case <-o.wake:
		case <-done:
			return nil
		}
	}
}

// putBack puts the frames of buf that begin at byte n or later before what has
// come since.
func (o *outbox) putBack(buf []byte, n int) {
	var kept []byte
	for at := 0; at < len(buf); {
		h, err := wire.ParseHeader(buf[at:])
		if err != nil {
			break // these are our own frames
		}
		end := at + wire.HeaderSize + int(h.Length)
		if end > n && h.Type != wire.TypeGhostDone {
			kept = append(kept, buf[at:end]...)
		}
		at = end
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(kept, o.buf...)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
