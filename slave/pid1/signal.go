package pid1

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Layout of siginfo_t on 64-bit Linux (asm-generic/siginfo.h).
const (
	infoSigno = 0
	infoErrno = 4
	infoCode  = 8
	infoValue = 24 // si_value; si_pid and si_uid are before it
)

// Values of si_code (sigaction(2)).
const (
	codeUser  = 0
	codeQueue = -1
	codeTkill = -6
)

// signal delivers a signal of the front end. A process that is gone is not an
// error: its end is on the way to the front end.
func (in *Init) signal(g *errgroup.Group, m *wire.InitSignal) {
	if len(m.Info) != wire.SizeofSiginfo || m.PID <= 1 {
		in.cfg.Log.Warn("malformed signal", "pid", m.PID)
		return
	}
	early, err := in.launches.signal(m, func() error { return in.send(int(m.PID), m.Info) })
	in.logSignal(m.PID, err)
	if early != nil && signalOf(m.Info) == unix.SIGKILL {
		g.Go(func() error {
			in.killBorn(m.PID, early)
			return nil
		})
	}
}

// killBorn kills the process of a launch as soon as it is born. The process may wait for something,
// such as a named pipe that nobody opens, so that its launch is never answered.
func (in *Init) killBorn(pid wire.PID, n *launching) {
	for pause := time.Millisecond; ; pause = min(2*pause, maxBirthPause) {
		err := in.launches.kill(pid, n, func() error { return in.kill(int(pid), unix.SIGKILL) })
		if !errors.Is(err, unix.ESRCH) {
			in.logSignal(pid, err)
			return
		}
		time.Sleep(pause)
	}
}

// maxBirthPause is the longest pause between two attempts to kill a process that is not born yet.
const maxBirthPause = 100 * time.Millisecond

func signalOf(info []byte) unix.Signal {
	return unix.Signal(binary.LittleEndian.Uint32(info[infoSigno:]))
}

func (in *Init) logSignal(pid wire.PID, err error) {
	if err != nil && !errors.Is(err, unix.ESRCH) {
		in.cfg.Log.Warn("cannot signal", "pid", pid, "err", err)
	}
}

// killAll ends every process of the space except init: kill(2) with -1 reaches all of the caller's
// PID namespace except its init and the caller. Processes of launches under way that are not born
// yet are killed as soon as they are.
func (in *Init) killAll(g *errgroup.Group) {
	unborn, err := in.sweep()
	if err != nil && !errors.Is(err, unix.ESRCH) {
		in.cfg.Log.Error("cannot kill all", "err", err)
	}
	for pid, n := range unborn {
		g.Go(func() error {
			in.killBorn(pid, n)
			return nil
		})
	}
}

// sweep kills all, and marks the launched ones, those under way among them.
func (in *Init) sweep() (unborn map[wire.PID]*launching, err error) {
	in.statuses.mu.Lock() // no launch begins, and no end is taken in, meanwhile
	defer in.statuses.mu.Unlock()
	return in.launches.killAll(func() error {
		in.parents.Sweep()
		return in.standins.killAll(func() error { return in.kill(-1, unix.SIGKILL) })
	})
}

// send delivers a signal so that the receiver sees the sender, where that is possible:
// rt_sigqueueinfo(2) takes no si_code that says that the kernel or kill(2) made the signal, not
// even from root.
//
//	sigqueue(3) and its like  the siginfo as it is
//	kill, tgkill              as from sigqueue, with the sender's number and user, and value 0
//	made by the kernel        kill(2): from a terminal, for example
func (in *Init) send(pid int, info []byte) error {
	signo := signalOf(info)
	if signo == unix.SIGKILL || signo == unix.SIGSTOP {
		return in.kill(pid, signo)
	}
	var si [wire.SizeofSiginfo]byte
	copy(si[:], info)
	switch code := int32(binary.LittleEndian.Uint32(info[infoCode:])); {
	case code == codeUser || code == codeTkill:
		clear(si[infoErrno:infoCode])
		putCode(si[:], codeQueue)
		clear(si[infoValue:])
	case code > 0:
		return in.kill(pid, signo)
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(signo), uintptr(unsafe.Pointer(&si[0])), 0, 0, uintptr(in.cfg.Cookie))
	switch errno {
	case 0:
		return nil
	case unix.EAGAIN:
		// The receiver's user has too many signals queued (RLIMIT_SIGPENDING). kill(2) still
		// delivers a standard signal, without the siginfo.
		return in.kill(pid, signo)
	}
	return errno
}

// kill is kill(2) with the cookie, so that the supervisor does not decide it.
func (in *Init) kill(pid int, signo unix.Signal) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_KILL, uintptr(pid), uintptr(signo), 0, 0, 0, uintptr(in.cfg.Cookie))
	if errno != 0 {
		return errno
	}
	return nil
}

func putCode(si []byte, code int32) {
	binary.LittleEndian.PutUint32(si[infoCode:], uint32(code))
}

// exists reports whether a process or thread of the space has a number.
func (in *Init) exists(pid wire.PID) bool { return in.kill(int(pid), 0) == nil }
