package master

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/internal/procstat"
	"bproc/wire"
)

// clientLeft is called when a client has closed the connection of its process.
// When the client has ended, the kernel gives the ghost another parent, init or
// the nearest subreaper, and the process on its node is told.
func (c *clientConn) clientLeft(ctx context.Context, pid wire.PID) {
	var runs bool
	if err := c.m.do(ctx, func(core *core) { runs = core.clientLeft(pid, c) }); err != nil || !runs {
		return
	}
	if err := awaitEnd(c.who.pid); err != nil {
		c.log.Debug("a client that left its process did not end", "pid", c.who.pid, "err", err)
		return
	}
	parent, err := parentOf(pid)
	if err != nil {
		return // the ghost has ended too
	}
	// An error means that the master ends, and then nobody is left to tell.
	_ = c.m.post(ctx, func(core *core) {
		if core.of(pid, c) != nil {
			core.reparent(pid, parent)
		}
	})
}

// of returns the process of a client's connection; nil: there is none any more, or the
// client has come back by another connection, or the number is another's.
func (c *core) of(pid wire.PID, client *clientConn) *proc {
	if p := c.procs[pid]; p != nil && p.client == client {
		return p
	}
	return nil
}

// clientLeft hangs up a process whose client has left, if the client wanted
// that. It reports whether the process still runs.
func (c *core) clientLeft(pid wire.PID, client *clientConn) bool {
	p := c.of(pid, client)
	if p == nil || p.state != running {
		return false
	}
	p.left = true
	c.hangUp(p)
	return true
}

func (c *core) hangUp(p *proc) {
	if p.hangUp {
		p.send(&wire.Signal{PID: p.pid, Info: kernelSignal(unix.SIGHUP)})
	}
	p.sess.put(&wire.HangUp{PID: p.pid, Session: p.hangUp})
}

func (c *core) reparent(pid, parent wire.PID) {
	if p := c.procs[pid]; p != nil && p.state == running {
		p.sess.put(&wire.Reparent{PID: pid, Parent: parent})
	}
}

// clientEnd is how long a client may take to end after its connection did.
const clientEnd = 5 * time.Second

// awaitEnd waits until a process has ended (pidfd_open(2): the descriptor is
// readable then).
func awaitEnd(pid wire.PID) error {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pidfd_open %d: %w", pid, err)
	}
	defer unix.Close(fd)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	deadline := time.Now().Add(clientEnd)
	for {
		n, err := longcall.Poll(fds, max(0, time.Until(deadline)))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait for the end of %d: %w", pid, err)
		case n == 0:
			return fmt.Errorf("wait for the end of %d: %w", pid, unix.ETIMEDOUT)
		default:
			return nil
		}
	}
}

// parentOf returns the parent of a process of the front end.
func parentOf(pid wire.PID) (wire.PID, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	parent, ok := procstat.Stat(stat).Int(procstat.Parent)
	if !ok {
		return 0, fmt.Errorf("stat of %d: %q", pid, stat)
	}
	return wire.PID(parent), nil
}
