package pid1

import (
	"sync"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// order keeps the frames to the daemon in order: its lock is held while a frame, or several that
// belong together, are written.
type order struct {
	mu      sync.Mutex
	changed sync.Cond    // signalled when conn or closed changes
	conn    *rights.Conn // the daemon; nil: none is connected
	closed  bool
	kept    kept
}

func (o *order) init() {
	o.changed.L = &o.mu
	o.kept.init()
}

// enter makes c the daemon's connection if greet, which writes the first frames, succeeds.
func (o *order) enter(c *rights.Conn, greet func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := greet(); err != nil {
		return err
	}
	o.conn = c
	o.changed.Broadcast()
	return nil
}

// leave closes c.
func (o *order) leave(c *rights.Conn) {
	_ = c.Close() // first: a writer that holds the lock must be able to give up
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn == c {
		o.lostLocked()
	}
}

func (o *order) lostLocked() {
	o.conn = nil
	o.changed.Broadcast()
}

// close ends all waits.
func (o *order) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// reply answers a request of c.
func (o *order) reply(c *rights.Conn, number uint64, m wire.Message, fds ...int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replyLocked(c, number, m, fds...)
}

// replyLocked reports whether the answer could be sent. It could not if c is no longer the daemon's
// connection.
func (o *order) replyLocked(c *rights.Conn, number uint64, m wire.Message, fds ...int) bool {
	if o.conn != c {
		return false
	}
	if err := c.Write(number, m, fds...); err != nil {
		_ = c.Shut() // its reader sees that after the daemon's last requests, and logs why
		o.lostLocked()
		return false
	}
	return true
}

// launchedLocked answers a launch of c. If another daemon is connected now, it was told to expect
// the answer. For a daemon that comes later the process is one that runs, or its failure is among
// what is kept.
func (o *order) launchedLocked(c *rights.Conn, number uint64, m *wire.InitLaunched) {
	if m.Stage != 0 {
		o.kept.keep(m.PID, m)
	}
	if !o.replyLocked(c, number, m) && o.conn != nil {
		o.replyLocked(o.conn, 0, m)
	}
}

// status reports the status of a process, to the next daemon if there is none. The end of a
// launched process is kept. It returns false after close, and calls reported before another daemon can
// come, which would else be told to expect the status.
func (o *order) status(s status, reported func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := &wire.InitStatus{PID: s.pid, Status: uint32(s.is)}
	if over(s.is) {
		m.Usage, m.WithNode = &s.usage, s.withNode
	}
	keeps := s.launched && over(s.is)
	for !o.closed {
		if o.conn == nil {
			o.changed.Wait()
			continue
		}
		if keeps { // first: the daemon may say at once to forget it
			o.kept.keep(s.pid, m)
		}
		if o.replyLocked(o.conn, 0, m) {
			reported()
			return true
		}
		if keeps { // the next daemon is told of it here
			o.kept.forget(s.pid)
		}
	}
	return false
}

// over reports whether a process with this status has ended.
func over(status unix.WaitStatus) bool { return status.Exited() || status.Signaled() }
