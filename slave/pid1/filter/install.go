package filter

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// required are the flags that every supported kernel has: they put the filter on all threads at
// once (TSYNC_ESRCH allows this together with a listener, Linux 5.7), and add no CPU mitigation
// that the process did not ask for.
const required = unix.SECCOMP_FILTER_FLAG_TSYNC |
	unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH |
	unix.SECCOMP_FILTER_FLAG_NEW_LISTENER |
	unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW

// Supported reports whether the kernel knows all of flags. The kernel checks flags before it reads
// the program, which is missing here.
func Supported(flags uintptr) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	return errno == unix.EFAULT
}

// Check reports what the kernel lacks for Install.
func Check() error {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("seccomp user notification (Linux 5.0, CONFIG_SECCOMP_FILTER): %w", errno)
	}
	if !Supported(required) {
		return errors.New("seccomp TSYNC with a listener (Linux 5.7): not supported")
	}
	return nil
}

// Install puts all threads of this process, and what they will start, under the filter and returns
// the listener. Calls with the cookie pass; with cookie 0 none do. Calls about processes at home
// pass, too. Install needs CAP_SYS_ADMIN, because it does not set no_new_privs: set-uid programs
// must work.
func Install(cookie uint64, home Home) (listener int, err error) {
	prog, err := Program(cookie, home)
	if err != nil {
		return -1, err
	}
	flags := uintptr(required)
	// Linux 5.19: signals that do not kill do not interrupt a call that was received.
	if Supported(flags | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
		flags |= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return -1, fmt.Errorf("install seccomp filter: %w", errno)
	}
	return int(fd), nil
}
