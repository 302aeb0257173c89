package pid1

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
	"bproc/wire"
)

// reap is the reaper: it waits for all children, those that init started and
// the orphans that the kernel gave to it, and reports what happened to them.
func (in *Init) reap(ctx context.Context) error {
	for ctx.Err() == nil {
		var status unix.WaitStatus
		pid, err := longcall.Wait4(-1, &status, unix.WUNTRACED|unix.WCONTINUED|unix.WALL)
		switch {
		case err == nil:
			in.report(wire.PID(pid), status)
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			select {
			case <-in.children:
			case <-ctx.Done():
			}
		default:
			return fmt.Errorf("wait4: %w", err)
		}
	}
	return context.Cause(ctx)
}

// childBorn tells the reaper that there is a child. Orphans need no telling:
// they come from processes that are children themselves.
func (in *Init) childBorn() {
	select {
	case in.children <- struct{}{}:
	default:
	}
}

// report tells the daemon of a status, after the answer to the launch of its
// process.
func (in *Init) report(pid wire.PID, status unix.WaitStatus) {
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	if status.Exited() || status.Signaled() {
		in.parents.Forget(pid)
	}
	if !in.launches.holdStatus(pid, status) {
		in.order.statusLocked(pid, status)
	}
}
