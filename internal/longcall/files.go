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

// Getdents is [unix.Getdents], for file systems that may block for long.
func Getdents(dir int, buf []byte) (int, error) {
	n, _, errno := Syscall6(unix.SYS_GETDENTS64, uintptr(dir), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Exists reports whether a file exists (faccessat(2), F_OK), in a file system that may block for
// long.
func Exists(dir int, path string) bool {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return false
	}
	_, _, errno := Syscall6(unix.SYS_FACCESSAT, uintptr(dir), uintptr(unsafe.Pointer(name)), unix.F_OK, 0, 0, 0)
	return errno == 0
}
