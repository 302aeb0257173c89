package procfs

import "golang.org/x/sys/unix"

// harmless are the system calls that get the text of a remote link. The 32-bit calls with these
// numbers are harmless, too.
var harmless = []int{unix.SYS_READLINK, unix.SYS_READLINKAT, unix.SYS_STAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX}
