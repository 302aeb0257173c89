package pid1

import (
	"sync"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// order holds what is told to the daemon in order: its lock is held while a
// frame, or several that belong together, are written.
type order struct {
	mu      sync.Mutex
	changed sync.Cond    // signalled when conn or closed change
	conn    *rights.Conn // the daemon; nil: none is connected
	closed  bool
}

func (o *order) init() { o.changed.L = &o.mu }

// enter makes c the daemon's connection when greet, which writes the first
// frame, succeeds.
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
		o.conn = nil
	}
}

// close lets nobody wait any longer.
func (o *order) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// reply answers a request of c.
func (o *order) reply(c *rights.Conn, number uint64, m wire.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replyLocked(c, number, m)
}

// replyLocked reports whether the answer could be sent: not when c is no
// longer the daemon's connection.
func (o *order) replyLocked(c *rights.Conn, number uint64, m wire.Message) bool {
	if o.conn != c {
		return false
	}
	if err := c.Write(number, m); err != nil {
		_ = c.Close() // its reader sees that, and logs why
		o.conn = nil
		return false
	}
	return true
}

// statusLocked reports the status of a process, to the next daemon if there is
// none. While it waits for one the lock is free.
func (o *order) statusLocked(pid wire.PID, status unix.WaitStatus) {
	m := &wire.InitStatus{PID: pid, Status: uint32(status)}
	for !o.closed {
		if o.conn == nil {
			o.changed.Wait()
			continue
		}
		if o.replyLocked(o.conn, 0, m) {
			return
		}
	}
}
