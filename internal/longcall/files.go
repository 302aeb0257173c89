package longcall

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Openat is [unix.Openat] without a mode, for file systems that may block for long.
func Openat(dir int, path string, flags int) (int, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	fd, _, errno := Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(flags), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
