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

// reap is the reaper: it waits for all children, those that init started and
// the orphans that the kernel gave to it, and reports what happened to them.
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

// states are the changes that init waits for; waitid(2) wants WEXITED too.
const states = unix.WUNTRACED | unix.WCONTINUED | unix.WALL

// siginfoPID is where siginfo_t has the number of a child.
const siginfoPID = 16

// changed waits for a child that ended, stopped or goes on, and leaves it as it
// is: its number stays its own.
func changed() (wire.PID, error) {
	var info [sizeofSiginfo]byte
	_, _, errno := longcall.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), states|unix.WEXITED|unix.WNOWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return wire.PID(binary.NativeEndian.Uint32(info[siginfoPID:])), nil
}

// childBorn tells the reaper that there is a child. Orphans need no telling:
// they come from processes that are children themselves.
func (in *Init) childBorn() {
	select {
	case in.children <- struct{}{}:
	default:
	}
}

// collect takes the status of a child from the kernel and tells the daemon, after
// the answer to the launch of its process. It holds the lock over both, so that
// a daemon that connects between them is told of the process in one way or the
// other.
func (in *Init) collect(pid wire.PID) {
	sleeper := in.standins.at(pid)
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	var status unix.WaitStatus
	got, err := unix.Wait4(int(pid), &status, states|unix.WNOHANG, nil)
	if err != nil || got == 0 {
		return // it went on, or stopped, in the meantime
	}
	if sleeper != nil {
		if over(status) {
			in.standins.ended(sleeper)
		}
		return
	}
	launched := in.parents.Has(pid)
	if over(status) {
		in.parents.Forget(pid)
		in.launches.unmark(pid)
	}
	if !in.launches.holdStatus(pid, status) {
		in.order.statusLocked(pid, status, launched)
	}
}
