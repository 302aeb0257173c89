package procfs

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

// unpolled is the file that package fuse answers for by itself, with ENOSYS to a poll.
const unpolled = ".go-fuse-epoll-hack"

// refusePolls has the kernel ask for a poll once, so that it never asks again. A Go program that opens a file by
// package os adds it to epoll by a call that keeps its processor: if the server is in the same program, and that has one
// processor, both would wait for each other. Package fuse does this by itself where it mounts.
func refusePolls(mountpoint string) error {
	fd, err := longcall.Openat(unix.AT_FDCWD, filepath.Join(mountpoint, unpolled), unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open a file of the view on %s: %w", mountpoint, err)
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) // ENOSYS is for the kernel alone
	return unix.Close(fd)
}
