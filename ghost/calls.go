package ghost

import (
	"errors"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// sendSignal makes a ghost send a signal for its process. The front end's kernel then judges by the
// ghost's credentials and session whether it may be sent, and to which processes of a group or of
// all; and the sender is right.
//
// Signals that the ghost has sent to itself are reported before the answer: natively a process has
// received them when its call returns (kill(2)).
func (s *shard) sendSignal(g *held, m *wire.GhostCall) error {
	number, args, err := sending(m)
	if err != nil {
		return err
	}
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer d.release()
	var without uint64
	if m.NoKill {
		if without, err = killing(g.pid); err != nil {
			return err
		}
	}
	if m.Info == nil && without == 0 {
		_, err = d.call(number, args...)
		return err
	}
	l := d.list()
	if m.Info != nil {
		args = append(args, l.put(m.Info))
	}
	if without == 0 {
		l.call(number, args...)
		return d.make(l)
	}
	lacks := false
	l.setCapabilities(func() { lacks = true }, without&^(1<<unix.CAP_KILL), without)
	l.call(number, args...)
	l.setCapabilities(func() { lacks = false }, without, without)
	err = d.make(l)
	if lacks { // the signal could not be sent
		l := d.list()
		l.setCapabilities(nil, without, without)
		err = errors.Join(err, d.make(l))
	}
	return err
}

// killing returns the capabilities of a ghost that has CAP_KILL, or 0. They are all that it may
// have.
func killing(pid wire.PID) (uint64, error) {
	st, err := readStatus(pid)
	if err != nil || st.capable&(1<<unix.CAP_KILL) == 0 {
		return 0, err
	}
	return st.capable, nil
}

// sync reports the signals that are pending for a ghost. The ghost gets them when it returns from a
// call that does nothing, or from the call that takes its alarm away.
func (s *shard) sync(g *held) error {
	d, err := s.drive(g)
	if err != nil {
		return err
	}
	defer d.release()
	if g.alarmed {
		return d.quiet()
	}
	if !pending(g.pid) {
		return nil
	}
	_, err = d.call(unix.SYS_GETPID)
	return err
}

// sending returns the system call for a request, and its arguments except the address of a
// siginfo_t, which comes last.
func sending(m *wire.GhostCall) (number uint64, args []uint64, err error) {
	count, info := 2, 0
	switch m.Op {
	case wire.CallKill:
		number = unix.SYS_KILL
	case wire.CallTgkill:
		number, count = unix.SYS_TGKILL, 3
	case wire.CallSigqueue:
		number, info = unix.SYS_RT_SIGQUEUEINFO, wire.SizeofSiginfo
	case wire.CallTgsigqueue:
		number, count, info = unix.SYS_RT_TGSIGQUEUEINFO, 3, wire.SizeofSiginfo
	default:
		return 0, nil, unix.ENOSYS
	}
	if len(m.Args) != count || len(m.Info) != info {
		return 0, nil, unix.EINVAL
	}
	if info > 0 && (*siginfo)(m.Info).atExit() {
		return 0, nil, unix.EPERM // a process may send this to itself, and it would look like a ghost's exit
	}
	for _, a := range m.Args {
		args = append(args, uint64(a))
	}
	if m.Op == wire.CallTgkill && m.Args[0] == 0 {
		number, args = unix.SYS_TKILL, args[1:]
	}
	return number, args, nil
}
