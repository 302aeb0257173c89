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
	conn    *rights.Conn // the daemon; nil: none is connected
	closed  bool
	kept    kept

	unreported []wire.PID // of the statuses that are being written or wait for a daemon
}

func (o *order) init() {
	o.changed.L = &o.mu
	o.kept.init()
}

// enter makes c the daemon's connection when greet, which writes the first
// frames, succeeds.
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

// close lets nobody wait any longer.
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

// replyLocked reports whether the answer could be sent: not when c is no
// longer the daemon's connection.
func (o *order) replyLocked(c *rights.Conn, number uint64, m wire.Message, fds ...int) bool {
	if o.conn != c {
		return false
	}
	if err := c.Write(number, m, fds...); err != nil {
		_ = c.Close() // its reader sees that, and logs why
		o.lostLocked()
		return false
	}
	return true
}

// launchedLocked answers a launch of c. If another daemon is there meanwhile, it was
// told to expect that. To one that comes later the process is one that runs, or its
// failure is told with what is kept.
func (o *order) launchedLocked(c *rights.Conn, number uint64, m *wire.InitLaunched) {
	if m.Stage != 0 {
		o.kept.keep(m.PID, m)
	}
	if !o.replyLocked(c, number, m) && o.conn != nil {
		o.replyLocked(o.conn, 0, m)
	}
}

// statusLocked reports the status of a process, to the next daemon if there is
// none. While it waits for one the lock is free. The end of a launched process is kept.
func (o *order) statusLocked(pid wire.PID, status unix.WaitStatus, launched bool) {
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
			if launched && over(status) {
				o.kept.keep(pid, m)
			}
			return
		}
	}
}

// over reports whether a status is that of a process that has ended.
func over(status unix.WaitStatus) bool { return status.Exited() || status.Signaled() }
