package pid1

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// reap is the reaper: it waits for all children, those that init started and the orphans that the
// kernel gave to it. It never waits for anything else, so that orphans that end in quick succession
// do not pile up as zombies.
func (in *Init) reap(ctx context.Context) error {
	for ctx.Err() == nil {
		pid, err := changed()
		switch {
		case err == nil:
			in.collect(pid)
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			select {
			case <-in.children:
			case <-ctx.Done():
			}
		default:
			return fmt.Errorf("waitid: %w", err)
		}
	}
	return context.Cause(ctx)
}

// states are the changes that init waits for; waitid(2) also needs WEXITED.
const states = unix.WUNTRACED | unix.WCONTINUED | unix.WALL

// siginfoPID is the offset of a child's number in siginfo_t.
const siginfoPID = 16

// changed waits for a child that ended, stopped or goes on, and leaves its status in the kernel: so
// its number stays its own. Telling the scheduler costs more than everything else, so it is told
// only if no child has changed yet.
func changed() (wire.PID, error) {
	const options = states | unix.WEXITED | unix.WNOWAIT
	var info [wire.SizeofSiginfo]byte
	at := uintptr(unsafe.Pointer(&info))
	_, _, errno := unix.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, at, options|unix.WNOHANG, 0, 0)
	if errno == 0 && childOf(&info) == 0 {
		_, _, errno = longcall.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, at, options, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return childOf(&info), nil
}

// childOf returns the number of the child of a siginfo_t; 0: there is none.
func childOf(info *[wire.SizeofSiginfo]byte) wire.PID {
	return wire.PID(binary.NativeEndian.Uint32(info[siginfoPID:]))
}

// childBorn tells the reaper that there is a child. Orphans need no call: they come from processes
// that are children themselves.
func (in *Init) childBorn() {
	select {
	case in.children <- struct{}{}:
	default:
	}
}

// collect takes the status of a child from the kernel. The daemon is told of launched
// processes; it learns of orphans from the kernel, and does not know of stand-ins. The
// child's number cannot pass to another process before its status is taken here.
func (in *Init) collect(pid wire.PID) {
	sleeper := in.standins.at(pid)
	switch {
	case sleeper != nil:
		if status, ok := take(pid); ok && over(status.is) {
			in.standins.ended(sleeper)
		}
	case in.parents.Has(pid):
		in.collectLaunched(pid)
	default:
		take(pid)
	}
}

// collectLaunched takes the status of a launched process, or of a process with the number of a
// launch under way.
func (in *Init) collectLaunched(pid wire.PID) {
	in.statuses.mu.Lock()
	defer in.statuses.mu.Unlock()
	status, ok := take(pid)
	status.withNode = status.is.Signal() == unix.SIGKILL && in.parents.Swept(pid)
	if !ok || in.launches.holdStatus(pid, status) {
		return
	}
	if over(status.is) {
		in.forget(pid)
	}
	in.statuses.putLocked(pid, status, true)
}

// forget forgets a launched process that has ended.
func (in *Init) forget(pid wire.PID) {
	in.parents.Forget(pid)
	in.launches.unmark(pid)
}

// take takes the status of a child from the kernel. There is none if the child went on, or stopped,
// in the meantime.
func take(pid wire.PID) (status waited, ok bool) {
	var raw uint32
	var used unix.Rusage
	got, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&raw)), states|unix.WNOHANG, uintptr(unsafe.Pointer(&used)), 0, 0)
	usage := wire.Usage{User: microseconds(used.Utime), System: microseconds(used.Stime), MaxRSS: uint64(used.Maxrss)}
	return waited{is: unix.WaitStatus(raw), usage: usage}, errno == 0 && got != 0
}

func microseconds(t unix.Timeval) uint64 { return uint64(t.Nano()) / 1000 }
