package pid1

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// order holds what is told to the daemon in order: its lock is held while a
// frame, or several that belong together, are written.
type order struct {
	mu      sync.Mutex
	changed sync.Cond    // signalled when conn or closed changes
	entered func()       // called when there is a daemon, or none is waited for any more
	conn    *rights.Conn // the daemon; nil: none is connected
	closed  bool

	unreported []wire.PID // of the statuses that are being written or wait for a daemon
}

func (o *order) init(entered func()) { o.changed.L, o.entered = &o.mu, entered }

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
	o.entered()
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

// awaitNone waits until no daemon is connected, and then calls f with the lock
// held. It reports false when nobody is to wait any longer.
func (o *order) awaitNone(f func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.conn != nil && !o.closed {
		o.changed.Wait()
	}
	if o.closed {
		return false
	}
	f()
	return true
}

// close lets nobody wait any longer.
func (o *order) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
	o.entered()
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
		o.lostLocked()
		return false
	}
	return true
}

// statusLocked reports the status of a process, to the next daemon if there is
// none. While it waits for one the lock is free.
func (o *order) statusLocked(pid wire.PID, status unix.WaitStatus) {
	m := &wire.InitStatus{PID: pid, Status: uint32(status)}
	o.unreported = append(o.unreported, pid)
	defer func() {
		i := slices.Index(o.unreported, pid)
		o.unreported = slices.Delete(o.unreported, i, i+1)
	}()
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
