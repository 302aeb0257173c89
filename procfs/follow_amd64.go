package procfs

import "golang.org/x/sys/unix"

// harmless are the system calls that get the text of a remote link. What has these numbers in
// programs of 32 bits is harmless, too.
var harmless = []int{unix.SYS_READLINK, unix.SYS_READLINKAT, unix.SYS_STAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX}
