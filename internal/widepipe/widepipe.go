// Package widepipe gives pipes that carry much data room for it, so that the programs at both ends
// work at the same time.
package widepipe

import (
	"os"

	"golang.org/x/sys/unix"
)

// Size is the capacity of a wide pipe, in bytes.
const Size = 256 << 10

// Widen makes a pipe wide that is narrower. The kernel may refuse (pipe(7), pipe-user-pages-soft), and
// what is no pipe stays as it is.
func Widen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && size < Size {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, Size)
		}
	})
}
