package longcall

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Poll is poll(2). A negative timeout means no timeout.
func Poll(fds []unix.PollFd, timeout time.Duration) (int, error) {
	var limit *unix.Timespec
	if timeout >= 0 {
		ts := unix.NsecToTimespec(timeout.Nanoseconds())
		limit = &ts
	}
	got, _, errno := Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(got), nil
}
