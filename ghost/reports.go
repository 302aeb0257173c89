package ghost

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"bproc/internal/outbox"
	"bproc/internal/quietsock"
	"bproc/wire"
)

// reports are what the keeper tells a master, in order. Signals are kept until they have reached
// their processes, and ends of ghosts until they are written to a master: the next one is told again.
type reports struct {
	log *slog.Logger

	mu      sync.Mutex
	signals keptSignals
	ends    []*wire.GhostGone // for the next master
	masters uint64            // number of master connections so far
	out     *outbox.Outbox    // of the present one; nil: there is none
}

func newReports(log *slog.Logger) *reports { return &reports{log: log, signals: newKeptSignals()} }

// signal reports a signal. It goes out with the next flush, and again to each new master until it
// is taken. signal never waits, because shards call it.
func (r *reports) signal(pid wire.PID, info *siginfo, group bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &wire.GhostSignal{PID: pid, Info: info[:], Group: group}
	if r.signals.add(m) {
		r.log.Warn("a ghost has got more signals than are kept; the oldest are not told to a next master", "pid", pid)
	}
	r.putLocked(0, m)
}

// boot returns the boot that the signals' numbers belong to.
func (r *reports) boot() uint64 { return r.signals.boot }

// taken forgets signals that have reached their processes.
func (r *reports) taken(marks []wire.Mark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range marks {
		r.signals.taken(m)
	}
}

// gone reports the end of a ghost.
func (r *reports) gone(m *wire.GhostGone) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signals.forget(m.PID)
	if !r.putLocked(0, m) {
		r.ends = append(r.ends, m)
	}
}

// done answers a request of a master's connection, unless the connection has ended.
func (r *reports) done(master, number uint64, errno uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if master == r.masters {
		r.putLocked(number, &wire.GhostDone{Errno: errno})
	}
}

// putLocked reports whether there is a master whose connection has not failed.
func (r *reports) putLocked(number uint64, m wire.Message) bool {
	if r.out == nil {
		return false
	}
	err := r.out.Put(number, m)
	if errors.Is(err, wire.ErrFrame) {
		r.log.Error("a report is lost", "msg", m.Type(), "err", err)
	}
	return err == nil
}

// flush writes what was reported, as far as the connection takes it without waiting.
func (r *reports) flush() {
	r.mu.Lock()
	out := r.out
	r.mu.Unlock()
	if out != nil {
		out.Flush()
	}
}

// attach begins a connection. The signals that are kept are sent first. It returns the number of
// the connection, for the answers to its requests. A master that reads nothing loses it: its next
// connection begins with everything that matters.
func (r *reports) attach(conn *quietsock.Conn) (master uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.masters++
	r.out = outbox.New(func() { conn.Close() })
	r.out.Open()
	for _, s := range r.signals.all() {
		r.putLocked(0, s)
	}
	r.ends = slices.DeleteFunc(r.ends, func(m *wire.GhostGone) bool { return r.putLocked(0, m) })
	return r.masters
}

// write writes to the connection that was attached last, until done is closed or a write fails, and
// detaches it.
func (r *reports) write(done <-chan struct{}, conn *quietsock.Conn) error {
	r.mu.Lock()
	out := r.out
	r.mu.Unlock()
	defer r.detach()
	return out.Run(done, conn, conn.TryWrite)
}

// detach ends a connection. Answers that were not written are not expected any more, and signals are
// kept anyway.
func (r *reports) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.out.Close()
	r.out = nil
	r.ends = append(endsIn(rest), r.ends...)
}

// endsIn returns the ends of ghosts among frames.
func endsIn(frames []byte) (ends []*wire.GhostGone) {
	for len(frames) > 0 {
		h, err := wire.ParseHeader(frames)
		if err != nil {
			break // cannot happen: these are our own frames
		}
		size := wire.HeaderSize + int(h.Length)
		if h.Type == wire.TypeGhostGone {
			if m, _, err := wire.NewReader(bytes.NewReader(frames[:size])).Read(); err == nil {
				ends = append(ends, m.(*wire.GhostGone))
			}
		}
		frames = frames[size:]
	}
	return ends
}
