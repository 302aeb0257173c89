package supervise

import (
	"context"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// pidfdOpen gives the caller a descriptor of the shadow of a process elsewhere. The shadow ends
// when that process has ended. There is none of a single thread elsewhere: the answer is that of
// kernels before 6.9.
func (s *Supervisor) pidfdOpen(r *request) verdict {
	flags := uint32(r.args[1])
	if flags&^(unix.PIDFD_NONBLOCK|unix.PIDFD_THREAD) != 0 {
		return goOn
	}
	if flags&unix.PIDFD_THREAD != 0 {
		return s.elsewhere(r, r.int(0), unix.EINVAL)
	}
	pid := r.int(0)
	if pid <= 0 || s.here(pid) {
		return goOn
	}
	user, ok := r.eyes.user(r.tid)
	if !ok {
		return goOn // the caller has gone
	}
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallEnd, Args: []int64{int64(pid), 0}}
	return s.call(r, c, func(ctx context.Context, v verdict) verdict {
		if v.errno != 0 {
			return v
		}
		file, err := s.frontEnd.Shadow(ctx, wire.PID(pid), user, int(flags))
		if err != nil {
			return failure(shortage(err))
		}
		return verdict{file: file}
	})
}

// shortage returns the error if there is no shadow.
func shortage(err error) unix.Errno {
	errno := unix.EAGAIN
	_ = errors.As(err, &errno)
	switch errno {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return errno
	}
	return unix.ENFILE
}

// behind returns the process elsewhere for which argument 0, a descriptor of a process, stands. It
// is 0 if the process has ended, and its shadow has ended or is about to. Other stand-ins have no
// descriptors. A caller that changes the descriptor while the call is under way could reach a
// shadow, which does nothing and is root's.
func (s *Supervisor) behind(r *request) (pid wire.PID, elsewhere bool) {
	number, ok := r.eyes.pidfd(r.tid, r.int(0))
	if !ok || number < pidmap.LocalEnd || number >= pidmap.Node {
		return 0, false // a process of this space
	}
	pid, _ = s.frontEnd.Shadowed(number)
	return pid, true
}

// pidfdSignal: if a descriptor is that of a shadow, the caller's ghost signals the process that it
// stands for. If the shadow has ended, the kernel answers. Flags other than that for the whole
// process get EINVAL, as from kernels before Linux 6.9.
func (s *Supervisor) pidfdSignal(r *request, is32 bool) verdict {
	const wholeProcess = 2 // PIDFD_SIGNAL_THREAD_GROUP of linux/pidfd.h
	pid, elsewhere := s.behind(r)
	switch {
	case !elsewhere:
		return goOn
	case pid == 0:
		return failure(unix.ESRCH)
	}
	if flags := uint32(r.args[3]); flags&^wholeProcess != 0 {
		return failure(unix.EINVAL)
	}
	signal, at := r.int(1), r.args[2]
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallKill, Args: []int64{int64(pid), int64(signal)}}
	if at == 0 {
		return s.call(r, c, nil)
	}
	c.Op = wire.CallSigqueue
	return s.callWith(r, c, func() ([]byte, unix.Errno) {
		var signo [4]byte
		if err := r.eyes.memory(r.tid, uintptr(at), signo[:]); err == nil && int32(binary.LittleEndian.Uint32(signo[:])) != signal {
			return nil, unix.EINVAL
		}
		return s.siginfo(r, at, signal, is32)
	})
}

// pidfdGetfd refuses descriptors of a process of another machine, as if the caller may not trace it
// (pidfd_getfd(2)).
func (s *Supervisor) pidfdGetfd(r *request) verdict {
	if _, elsewhere := s.behind(r); elsewhere {
		return failure(unix.EPERM)
	}
	return goOn
}
