package supervise

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
	"bproc/wire"
)

// send decides about a call that names a process or thread of this space. A signal that does not
// stop processes of an orphaned group waits until groups that were just made are not orphaned.
func (s *Supervisor) send(call filter.Call, args *[6]uint64) verdict {
	var signal int32
	switch call {
	case filter.Kill, filter.Tkill, filter.Sigqueue, filter.Sigqueue32:
		signal = int32(args[1])
	case filter.Tgkill, filter.Tgsigqueue, filter.Tgsigqueue32:
		signal = int32(args[2])
	default:
		return goOn
	}
	switch unix.Signal(signal) {
	case unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		if s.frontEnd.Unsettled() {
			return verdict{wait: func(ctx context.Context) verdict { s.frontEnd.Settle(ctx); return goOn }}
		}
	}
	return goOn
}

// kill leaves signals to a process or group of this space to the kernel. The caller's ghost sends
// all others, to the ghosts. That includes invalid signal numbers: the kernel looks for the
// receiver first, and only the front end knows whether there is one.
func (s *Supervisor) kill(r *request) verdict {
	pid, signal := r.int(0), r.int(1)
	if pid == math.MinInt32 {
		return goOn
	}
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallKill, Args: []int64{int64(pid), int64(signal)}}
	switch {
	case pid > 0:
		if s.here(pid) {
			return goOn
		}
		return s.call(r, c, nil)
	case pid == 0:
		if s.groupIsOurs(r.who, r.who.pgid) {
			return goOn
		}
	case pid < -1:
		if s.groupIsOurs(r.who, wire.PID(-pid)) {
			return goOn
		}
	}
	// A signal that a process sends to itself among others comes before its call
	// returns (kill(2), NOTES).
	return s.call(r, c, func(ctx context.Context, v verdict) verdict {
		if err := s.frontEnd.Sync(ctx); err != nil && v.errno == 0 {
			return failure(unix.EIO)
		}
		return v
	})
}

// tgkill also handles tkill(2), which has no tgid.
func (s *Supervisor) tgkill(r *request, tgid, tid, signal int32) verdict {
	if tgid < 0 || tid <= 0 || s.here(tid) || tgid > 0 && s.here(tgid) {
		return goOn
	}
	args := []int64{int64(tgid), int64(tid), int64(signal)}
	return s.call(r, &wire.Call{Caller: r.who.pid, Op: wire.CallTgkill, Args: args}, nil)
}

// sigqueue handles rt_sigqueueinfo(2).
func (s *Supervisor) sigqueue(r *request, is32 bool) verdict {
	pid, signal := r.int(0), r.int(1)
	if pid <= 0 || s.here(pid) {
		return goOn
	}
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallSigqueue, Args: []int64{int64(pid), int64(signal)}}
	return s.callWith(r, c, func() ([]byte, unix.Errno) { return s.siginfo(r, r.args[2], signal, is32) })
}

// tgsigqueue handles rt_tgsigqueueinfo(2).
func (s *Supervisor) tgsigqueue(r *request, is32 bool) verdict {
	tgid, tid, signal := r.int(0), r.int(1), r.int(2)
	if tgid <= 0 || tid <= 0 || s.here(tid) || s.here(tgid) {
		return goOn
	}
	c := &wire.Call{Caller: r.who.pid, Op: wire.CallTgsigqueue, Args: []int64{int64(tgid), int64(tid), int64(signal)}}
	return s.callWith(r, c, func() ([]byte, unix.Errno) { return s.siginfo(r, r.args[3], signal, is32) })
}
