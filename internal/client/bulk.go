package client

import (
	"golang.org/x/sys/unix"
)

// bulkPipe is the capacity, in bytes, of a pipe that carries much data.
const bulkPipe = 256 << 10

// widen gives a standard descriptor of a command that is a pipe more room, so that the program at its
// other end works while this one does. The kernel may refuse (pipe(7), pipe-user-pages-soft): then it
// works as it is.
func widen(stream any) {
	if p, ok := stream.(*OutputPipe); ok {
		stream = p.writer
	}
	if i, ok := stream.(*fileInput); ok {
		stream = i.f
	}
	f, ok := FileOf(stream)
	if !ok {
		return
	}
	_ = control(f, func(fd int) {
		if size, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil && size < bulkPipe {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, bulkPipe)
		}
	})
}
