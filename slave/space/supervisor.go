package space

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
	"bproc/wire"
)

// supervisor answers the system calls whose answer the space's kernel does not
// know. The thread that receives a notification answers it: every other way
// costs another switch, ten times as much.
type supervisor struct {
	listener int
	stopped  int // eventfd
	parents  *parents
	log      *slog.Logger
}

// newSupervisor takes ownership of the listener.
func newSupervisor(listener int, parents *parents, log *slog.Logger) *supervisor {
	wakeSynchronously(listener)
	stopped, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		stopped = -1 // run reports it
	}
	return &supervisor{listener: listener, stopped: stopped, parents: parents, log: log}
}

// stop makes run return.
func (s *supervisor) stop() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := unix.Write(s.stopped, one[:]); err != nil {
		s.log.Error("cannot stop the supervisor", "err", err)
	}
}

// close is for after run.
func (s *supervisor) close() error {
	return errors.Join(unix.Close(s.listener), unix.Close(s.stopped))
}

// run answers until stop, or until no process is under the filter any more.
func (s *supervisor) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fds := []unix.PollFd{
		{Fd: int32(s.listener), Events: unix.POLLIN},
		{Fd: int32(s.stopped), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("poll seccomp listener: %w", err)
		case fds[1].Revents != 0:
			return nil
		case fds[0].Revents&unix.POLLIN == 0: // POLLHUP
			return nil
		}
		if err := s.serve(); err != nil {
			return err
		}
	}
}

// serve takes one notification and answers it.
func (s *supervisor) serve() error {
	n, errno := receive(s.listener)
	switch errno {
	case 0:
	case unix.EINTR, unix.ENOENT: // the caller was interrupted before
		return nil
	default:
		return fmt.Errorf("receive seccomp notification: %w", errno)
	}
	// Between receiving and answering the caller can end and its number pass to
	// another thread. The answer is then computed for a stranger, but sent with
	// the ID of a call that is no more, which is ENOENT. So SECCOMP_IOCTL_NOTIF_ID_VALID
	// is needed only where an answer has effects of its own: none here has.
	switch errno := answer(s.listener, s.decide(&n)); errno {
	case 0, unix.ENOENT, unix.EINPROGRESS:
		return nil
	default:
		return fmt.Errorf("answer seccomp notification: %w", errno)
	}
}

// decide finds the answer. Where the kernel's own is right, the call goes on.
func (s *supervisor) decide(n *notif) resp {
	if call, ok := filter.Lookup(n.Data.Arch, n.Data.Nr); ok && call == filter.Getppid {
		if parent, ok := s.parentOf(n.PID); ok {
			return resp{ID: n.ID, Val: int64(parent)}
		}
	}
	return resp{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
}

// parentOf returns the parent that the process of a thread has on the front
// end, if it was started from there.
func (s *supervisor) parentOf(tid uint32) (wire.PID, bool) {
	pid, ok := caller(tid)
	if !ok {
		return 0, false
	}
	parent, ok := s.parents.get(pid)
	return parent, ok && parent > 0
}
