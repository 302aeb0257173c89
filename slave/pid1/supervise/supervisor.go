package supervise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
	"bproc/wire"
)

// Level is how many PID namespaces the space is inside that of the supervisor.
type Level int

// The supervisors.
const (
	Inside  Level = 0 // init
	Outside Level = 1 // the slave daemon, which made the namespace
)

// Supervisor answers notifications. The thread that receives one answers it:
// every other way costs another switch, ten times as much.
type Supervisor struct {
	listener int
	stopped  int // eventfd
	level    Level
	parents  *Parents
}

// New returns a Supervisor for the processes under the filter of a listener,
// which stays the caller's.
func New(listener int, level Level, parents *Parents) (*Supervisor, error) {
	stopped, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	wakeSynchronously(listener)
	return &Supervisor{listener: listener, stopped: stopped, level: level, parents: parents}, nil
}

// Stop makes Run return, or the next Run if none is under way.
func (s *Supervisor) Stop() error {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := unix.Write(s.stopped, one[:]); err != nil {
		return fmt.Errorf("stop supervisor: %w", err)
	}
	return nil
}

// Rearm takes back a Stop. It is for the goroutine of Run.
func (s *Supervisor) Rearm() error {
	var count [8]byte
	if _, err := unix.Read(s.stopped, count[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("rearm supervisor: %w", err)
	}
	return nil
}

// Close is for after Run.
func (s *Supervisor) Close() error { return unix.Close(s.stopped) }

// Run answers until Stop, or until no process is under the filter any more.
func (s *Supervisor) Run() error {
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
func (s *Supervisor) serve() error {
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
func (s *Supervisor) decide(n *notif) resp {
	if call, ok := filter.Lookup(n.Data.Arch, n.Data.Nr); ok && call == filter.Getppid {
		if parent, ok := s.parentOf(n.PID); ok {
			return resp{ID: n.ID, Val: int64(parent)}
		}
	}
	return resp{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
}

// parentOf returns the parent that the process of a thread has on the front
// end, if it was started from there.
func (s *Supervisor) parentOf(tid uint32) (wire.PID, bool) {
	pid, ok := caller(tid, s.level)
	if !ok {
		return 0, false
	}
	parent, ok := s.parents.get(pid)
	return parent, ok && parent > 0
}
