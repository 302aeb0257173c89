package ghost

import (
	"log/slog"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxEvents bounds what waits for a master, in bytes: some 400,000 signals. It
// takes a master that is gone and a storm of signals to reach it.
const maxEvents = 64 << 20

// outbox keeps what the keeper has to say until a master takes it, in order.
type outbox struct {
	log  *slog.Logger
	wake chan struct{}

	mu     sync.Mutex
	buf    []byte
	full   bool
	torn   int              // bytes of buf that are written already
	direct func([]byte) int // writes what can be written without waiting; nil: no master, or the writer is at work
}

func newOutbox(log *slog.Logger) *outbox {
	return &outbox{log: log, wake: make(chan struct{}, 1)}
}

// put appends a message, which goes out with the next flush. It never waits:
// shards call it.
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
}

// flush writes what was put, as far as the connection takes it at once: to wake
// another thread for that would cost more than the write. The writer does the
// rest.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) == 0 {
		return
	}
	if o.direct != nil && o.torn == 0 {
		o.torn = o.direct(o.buf)
		if o.torn == len(o.buf) {
			o.buf, o.torn = o.buf[:0], 0
			return
		}
	}
	o.wakeLocked()
}

// write writes what comes to conn until done is closed or a write ends with an
// error. What was not written is kept, but for answers, which nobody waits for
// any more.
func (o *outbox) write(done <-chan struct{}, conn *net.UnixConn) error {
	defer o.detach()
	direct := writer(conn)
	var spare []byte
	for {
		buf, torn := o.take(spare, direct)
		if len(buf) > 0 {
			if n, err := conn.Write(buf[torn:]); err != nil {
				o.putBack(buf, torn+n)
				return err
			}
			spare = buf
			if cap(spare) > 1<<20 {
				spare = nil
			}
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

// take gives the writer what there is, and how much of it has been written. When
// that is nothing, flush may write again.
func (o *outbox) take(spare []byte, direct func([]byte) int) (buf []byte, torn int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf, torn = o.buf, o.torn
	o.buf, o.torn, o.full = spare[:0], 0, false
	o.direct = nil
	if len(buf) == 0 {
		o.direct = direct
	}
	return buf, torn
}

// detach is for the end of a connection.
func (o *outbox) detach() {
	o.mu.Lock()
	buf, torn := o.buf, o.torn
	o.buf, o.torn, o.direct = nil, 0, nil
	o.mu.Unlock()
	o.putBack(buf, torn)
}

// writer returns a function that writes to conn without waiting, and returns how
// much went out. An error shows with the next write that may wait.
func writer(conn *net.UnixConn) func([]byte) int {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return func(buf []byte) int {
		n := 0
		_ = raw.Write(func(fd uintptr) bool {
			n, _ = unix.Write(int(fd), buf)
			return true
		})
		return max(n, 0)
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
	o.wakeLocked()
}

func (o *outbox) wakeLocked() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
