// Package pidfd says whether the process of a descriptor has ended.
package pidfd

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Ended reports whether a process has ended, reaped or not, all its threads included: its descriptor
// is readable then (pidfd_open(2)). It waits for that, at most for a time. A descriptor that cannot
// be asked is one of a process that lives.
func Ended(pidfd int, within time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(within.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
		}
	}
}
