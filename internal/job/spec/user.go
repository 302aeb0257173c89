package spec

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SetGroups sets the supplementary groups of this thread.
func SetGroups(groups []uint32) error {
	var first unsafe.Pointer
	if len(groups) > 0 {
		first = unsafe.Pointer(&groups[0])
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 {
		return fmt.Errorf("set the groups of the job's user: %w", errno)
	}
	return nil
}

// SetFileUser sets this thread's user and group for file access. For root that always succeeds. It
// also takes root's capabilities for files away, and brings them back (capabilities(7)).
func SetFileUser(uid, gid uint32) {
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(gid), 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0)
}
