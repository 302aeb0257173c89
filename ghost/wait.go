package ghost

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// anyTracee stands for all tracees of a shard.
const anyTracee wire.PID = -1

// errSlow means that a ghost does not stop at once.
var errSlow = errors.New("the ghost does not stop")

// await waits until a tracee has stopped or ended, as wait4(2) does. It returns 0 if none has and
// options has WNOHANG.
//
// It first looks (waitid(2), WNOWAIT), and does not collect the end of a ghost that is to stay a
// zombie, or that is not to end. The latter has got SIGKILL, and has slipped out of the stop at its
// exit by a restart that was meant for another stop, see goOn. Only a zombie is left, but it is its
// keeper's: until the keeper waits for it, it keeps its number, and its parent's wait does not
// return.
//
// With anyTracee, await leaves the tracees that a worker waits for to that worker, and returns 0
// then, too; so it does when the bell was rung.
func (s *shard) await(pid wire.PID, options int) (wire.PID, unix.WaitStatus, error) {
	if pid != anyTracee && s.worker != nil && options&unix.WNOHANG == 0 {
		s.prod.arm()
	}
	for prods := 0; ; {
		found, ended, err := look(pid, s.wanted(pid)|options)
		switch {
		case errors.Is(err, unix.EINTR):
			if prods++; s.goesOn(pid, prods) {
				continue
			}
			return 0, 0, interrupted(pid)
		case err != nil || found == 0 || pid == anyTracee && s.wake(found):
			return 0, 0, err
		case ended && s.keepsZombie(found):
			if pid == anyTracee {
				continue
			}
			return 0, 0, errHeld
		}
		got, status, err := collect(found)
		if err != nil || got != 0 { // else SIGKILL has taken it from its stop
			return got, status, err
		}
	}
}

// interrupted returns what await returns after an interruption; nil: there may be a request in the queue.
func interrupted(pid wire.PID) error {
	if pid == anyTracee {
		return nil
	}
	return errSlow
}

// keepsZombie reports whether the end of a tracee is not to be collected.
func (s *shard) keepsZombie(pid wire.PID) bool {
	g := s.ghosts[pid]
	if g == nil || !g.zombie && g.asked {
		return false
	}
	s.slip(g)
	return true
}

// wanted returns what await waits for.
func (s *shard) wanted(pid wire.PID) (options int) {
	if pid == anyTracee && s.slipped > 0 {
		return unix.WSTOPPED // it would find those zombies each time
	}
	return unix.WSTOPPED | unix.WEXITED
}

// goesOn reports whether await goes on after an interruption, of which there were prods.
func (s *shard) goesOn(pid wire.PID, prods int) bool {
	s.bell.silence()
	if pid == anyTracee {
		s.prod.disarm()
		return false
	}
	return prods <= 1 || s.worker == nil
}

// look finds a tracee that has stopped or ended, without collecting it.
func look(pid wire.PID, options int) (found wire.PID, ended bool, err error) {
	const exited, dumped = 1, 3 // CLD_EXITED to CLD_DUMPED of sigaction(2)
	options |= unix.WALL | unix.WNOTHREAD | unix.WNOWAIT
	var info siginfo
	var errno unix.Errno
	which := unix.P_ALL
	if pid != anyTracee {
		which = unix.P_PID
	}
	if options&unix.WNOHANG != 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_WAITID, uintptr(which), uintptr(pid), uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
	} else {
		_, _, errno = longcall.Syscall6(unix.SYS_WAITID, uintptr(which), uintptr(pid), uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
	}
	if errno == unix.ECHILD && pid == anyTracee {
		return 0, false, noTracee(options)
	}
	if errno != 0 {
		return 0, false, errno
	}
	code := info.code()
	return wire.PID(binary.LittleEndian.Uint32(info[offPid:])), code >= exited && code <= dumped, nil
}

// noTracee waits until the thread is interrupted (EINTR) when there is no tracee.
func noTracee(options int) error {
	if options&unix.WNOHANG != 0 {
		return nil
	}
	_, err := longcall.Poll(nil, -1)
	return err
}

// collect is wait4(2) for a tracee that has stopped or ended.
func collect(pid wire.PID) (wire.PID, unix.WaitStatus, error) {
	const options = unix.WALL | unix.WNOTHREAD | unix.WNOHANG
	var status uint32
	got, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&status)), options, 0, 0, 0)
	if errno != 0 {
		return 0, 0, errno
	}
	return wire.PID(got), unix.WaitStatus(status), nil
}

// slip holds a ghost that is a zombie. From now on the kernel does not report ends to the shard, so
// the shard waits for each expected end.
func (s *shard) slip(g *held) {
	if !g.slipped {
		g.slipped = true
		s.slipped++
		s.tickAfter(tickTime)
	}
	s.exiting(g)
	for _, g := range s.ghosts {
		if g.asked && !g.slipped {
			g.ending = true
		}
	}
	s.awaitEnds()
}

// awaitEnds waits for the ends of all ghosts that are to end.
func (s *shard) awaitEnds() {
	for _, g := range s.ghosts {
		if g.asked && !g.slipped {
			s.awaitEnd(g)
		}
	}
}

// awaitEnd waits for the end of a ghost that is to end. If that takes long, ticks check for it.
func (s *shard) awaitEnd(g *held) {
	options := 0
	if g.ending || s.ended || s.prod.made && s.worker == nil {
		options = unix.WNOHANG
	}
	for s.ghosts[g.pid] == g {
		pid, status, err := s.await(g.pid, options)
		switch {
		case pid != 0 && err == nil:
			s.ghostStopped(g, status)
			continue
		case err == nil, errors.Is(err, errSlow):
			g.ending = true
			s.tickAfter(tickTime)
		}
		return
	}
}
