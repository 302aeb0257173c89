package longcall

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Wait4 is wait4(2).
func Wait4(pid int, status *unix.WaitStatus, options int) (int, error) {
	var raw uint32
	got, _, errno := Syscall6(unix.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&raw)), uintptr(options), 0, 0, 0)
	*status = unix.WaitStatus(raw)
	if errno != 0 {
		return 0, errno
	}
	return int(got), nil
}
