package ghost

import (
	"errors"
	"log/slog"
	"sync"

	"bproc/internal/quietsock"
	"bproc/wire"
)

// maxEvents bounds what waits for a master, in bytes: some 400,000 signals. Only a master that
// hangs and a storm of signals together reach it.
const maxEvents = 64 << 20

// errBehind ends the connection of a master that has not read the keeper's messages for too long.
// The next connection begins with everything that matters.
var errBehind = errors.New("the master does not take what the keeper says")

// outbox keeps the keeper's messages until a master takes them, in order. It keeps signals even
// longer, until they have reached their processes.
type outbox struct {
	log  *slog.Logger
	wake chan struct{}

	mu       sync.Mutex
	signals  keptSignals
	attached bool   // a master is connected
	masters  uint64 // number of master connections so far
	buf      []byte
	behind   bool             // buf is full, and a message was dropped
	torn     int              // bytes of buf that are already written
	direct   func([]byte) int // writes without waiting; nil: no master, or the writer is at work
}

func newOutbox(log *slog.Logger) *outbox {
	return &outbox{log: log, wake: make(chan struct{}, 1), signals: newKeptSignals()}
}

// signal reports a signal. It goes out with the next flush, and again to each new master until it
// is taken. signal never waits, because shards call it.
func (o *outbox) signal(pid wire.PID, info *siginfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seq, full := o.signals.add(pid, info)
	if full {
		o.log.Warn("a ghost has got more signals than are kept; the oldest are not told to a next master", "pid", pid)
	}
	if o.attached {
		o.putLocked(0, &wire.GhostSignal{PID: pid, Info: info[:], Seq: seq})
	}
}

// boot returns the boot that the signals' numbers belong to.
func (o *outbox) boot() uint64 { return o.signals.boot }

// taken forgets signals that have reached their processes.
func (o *outbox) taken(marks []wire.Mark) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range marks {
		o.signals.taken(m)
	}
}

// gone reports the end of a ghost.
func (o *outbox) gone(m *wire.GhostGone) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.signals.forget(m.PID)
	o.putLocked(0, m)
}

// done answers a request of a master's connection, unless the connection has ended.
func (o *outbox) done(master, number uint64, errno uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attached && master == o.masters {
		o.putLocked(number, &wire.GhostDone{Errno: errno})
	}
}

func (o *outbox) putLocked(number uint64, m wire.Message) {
	if len(o.buf) > maxEvents {
		o.behind = true
		return
	}
	buf, err := wire.Append(o.buf, number, m)
	if err != nil {
		o.log.Error("an event is lost", "msg", m.Type(), "err", err)
		return
	}
	o.buf = buf
}

// flush writes what was put, as far as the connection accepts it without waiting: waking another
// thread would cost more than the write. The writer does the rest.
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

// write writes to conn everything since attach, until done is closed or a write fails. Ends of
// ghosts that were not written are kept.
func (o *outbox) write(done <-chan struct{}, conn *quietsock.Conn) error {
	defer o.detach()
	var spare []byte
	for {
		buf, torn, err := o.take(spare, conn.TryWrite)
		if err != nil {
			return err
		}
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

// attach begins a connection. The signals that are kept are sent first. It returns the number of
// the connection, for the answers to its requests.
func (o *outbox) attach() (master uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.masters++
	ends := o.buf
	o.attached, o.behind, o.buf = true, false, nil
	for _, s := range o.signals.all() {
		o.putLocked(0, s)
	}
	o.buf = append(o.buf, ends...)
	return o.masters
}

// take gives the writer all waiting messages, and the number of bytes already written. When there
// are none, flush may write again.
func (o *outbox) take(spare []byte, direct func([]byte) int) (buf []byte, torn int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.behind {
		return nil, 0, errBehind
	}
	buf, torn = o.buf, o.torn
	o.buf, o.torn = spare[:0], 0
	o.direct = nil
	if len(buf) == 0 {
		o.direct = direct
	}
	return buf, torn, nil
}

// detach ends a connection.
func (o *outbox) detach() {
	o.mu.Lock()
	buf, torn := o.buf, o.torn
	o.buf, o.torn, o.direct, o.attached = nil, 0, nil, false
	o.mu.Unlock()
	o.putBack(buf, torn)
}

// putBack puts the GhostGone frames that end after byte n of buf before all newer messages. Answers
// are not expected any more, and signals are kept anyway.
func (o *outbox) putBack(buf []byte, n int) {
	var ends []byte
	for at := 0; at < len(buf); {
		h, err := wire.ParseHeader(buf[at:])
		if err != nil {
			break // cannot happen: these are our own frames
		}
		end := at + wire.HeaderSize + int(h.Length)
		if end > n && h.Type == wire.TypeGhostGone {
			ends = append(ends, buf[at:end]...)
		}
		at = end
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(ends, o.buf...)
	o.wakeLocked()
}

func (o *outbox) wakeLocked() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
