package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxTaken bounds how many signals a ghost is relieved of after a call of its
// own, so that a flood of signals from elsewhere cannot hold its shard.
const maxTaken = 1024

// sendSignal makes a ghost send a signal as its process wants to. The kernel
// thus judges by the ghost's credentials and session whether it may, and whom a
// group or all is; and the sender is right.
//
// The signals that the ghost has sent to itself are reported before the answer:
// natively a process has got them when its call returns (kill(2)).
func (s *shard) sendSignal(g *held, m *wire.GhostCall) error {
	number, args, err := sending(m)
	if err != nil {
		return err
	}
	d, err := s.take(g)
	if err != nil {
		return err
	}
	if m.Info != nil {
		addr := d.scratch()
		if err := write(g.pid, addr, m.Info); err != nil {
			d.release()
			return err
		}
		args = append(args, addr)
	}
	_, err = d.call(0, number, args...)
	d.takeSignals()
	d.release()
	return err
}

// sync reports the signals that are pending for a ghost.
func (s *shard) sync(g *held) error {
	d, err := s.take(g)
	if err != nil {
		return err
	}
	d.takeSignals()
	d.release()
	return nil
}

// sending returns the system call for a request, with its arguments but for the
// address of a siginfo_t, which comes last.
func sending(m *wire.GhostCall) (number uint64, args []uint64, err error) {
	count, info := 2, 0
	switch m.Op {
	case wire.CallKill:
		number = unix.SYS_KILL
	case wire.CallTgkill:
		number, count = unix.SYS_TGKILL, 3
	case wire.CallSigqueue:
		number, info = unix.SYS_RT_SIGQUEUEINFO, sizeofSiginfo
	case wire.CallTgsigqueue:
		number, count, info = unix.SYS_RT_TGSIGQUEUEINFO, 3, sizeofSiginfo
	default:
		return 0, nil, unix.ENOSYS
	}
	if len(m.Args) != count || len(m.Info) != info {
		return 0, nil, unix.EINVAL
	}
	for _, a := range m.Args {
		args = append(args, uint64(a))
	}
	if m.Op == wire.CallTgkill && m.Args[0] == 0 {
		number, args = unix.SYS_TKILL, args[1:]
	}
	return number, args, nil
}

// takeSignals lets the ghost get what is pending for it, all of which stops it
// before its loop makes the next system call.
func (d *driven) takeSignals() {
	if d.g.killed || !pending(d.g.pid) || goOn(unix.PTRACE_SYSCALL, d.g.pid, 0) != nil {
		return
	}
	for left := maxTaken; left > 0; left-- {
		how := unix.PTRACE_SYSCALL
		if left == 1 {
			how = unix.PTRACE_CONT // nobody waits for that call any more
		}
		switch st, err := d.s.next(d.g); {
		case err != nil:
			return
		case st.event == 0 && st.signal == syscallStop:
			return
		case st.event == 0:
			d.s.deliver(d.g, how)
		default:
			if st.event == unix.PTRACE_EVENT_STOP {
				d.s.seeStop(d.g, st)
			}
			_ = goOn(how, d.g.pid, 0)
		}
	}
	d.running = true
}
