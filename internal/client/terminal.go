package client

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// foregroundLook is how often a process in the background looks whether it is
// in the foreground of its terminal again, when there is something to read.
const foregroundLook = 200 * time.Millisecond

// terminal is a terminal that is read only in the foreground. A read in the
// background stops the whole process group (termios(3), SIGTTIN): the ghosts
// too, and with them commands that may not want any input at all.
type terminal struct{ f *os.File }

// FromTerminal returns a reader for standard input: one that waits in the
// background if it is a terminal, otherwise r itself.
func FromTerminal(r io.Reader) io.Reader {
	f, ok := FileOf(r)
	if !ok {
		return r
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return r
	}
	return terminal{f}
}

// Read implements [io.Reader].
func (t terminal) Read(p []byte) (int, error) {
	fd := int(t.f.Fd())
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, os.NewSyscallError("poll", err)
		}
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err != nil || group == unix.Getpgrp() {
			n, err := t.f.Read(p) // without a session's terminal nobody is stopped
			if errors.Is(err, unix.EAGAIN) {
				continue // as File has it
			}
			return n, err
		}
		if fds[0].Revents&^unix.POLLIN != 0 {
			return 0, io.EOF // it has hung up
		}
		time.Sleep(foregroundLook)
	}
}
