package client

import (
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// foregroundLook is how often a process in the background looks whether it is
// in the foreground of its terminal again, when there is something to read.
const foregroundLook = 200 * time.Millisecond

// fileInput is a file that is standard input, and whose reads block. It is read only when there
// is something to read, and not after InputEnded: what comes then is for others. A terminal is read
// only in the foreground. A read in the background stops the whole process group (termios(3), SIGTTIN):
// the ghosts too, and with them commands that may not want any input at all.
type fileInput struct {
	f        File
	terminal bool

	// An epoll instance with the file, for which the Go runtime can wait without a thread. nil: the
	// file has always something to read (epoll_ctl(2), EPERM), or no descriptor is left.
	ready *os.File
	raw   syscall.RawConn
}

// FromFile returns a reader for standard input: r itself, unless it is a file that blocks, or a terminal.
func FromFile(r io.Reader) io.Reader {
	f, ok := FileOf(r)
	if !ok {
		return r
	}
	i := &fileInput{f: NewFile(f)}
	blocks, epoll := false, -1
	_ = control(f, func(fd int) {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		_, notTerminal := unix.IoctlGetTermios(fd, unix.TCGETS)
		i.terminal = notTerminal == nil
		if blocks = err == nil && flags&unix.O_NONBLOCK == 0; blocks || i.terminal {
			epoll = epollOf(fd)
		}
	})
	if epoll >= 0 {
		i.ready = os.NewFile(uintptr(epoll), "input")
		i.raw, _ = i.ready.SyscallConn() // it is open
	}
	if i.ready == nil && !i.terminal {
		return r
	}
	return i
}

// control calls do with the descriptor of a file, whose mode stays as it is (os.File.Fd may change it).
func control(f *os.File, do func(fd int)) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { do(int(fd)) })
}

// epollOf returns an epoll instance (epoll(7)) that can be read from when the file can; -1: there is
// none.
func epollOf(fd int) int {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1
	}
	err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN})
	if err == nil {
		err = unix.SetNonblock(epoll, true)
	}
	if err != nil {
		unix.Close(epoll)
		return -1
	}
	return epoll
}

// InputEnded ends a Read that waits.
func (i *fileInput) InputEnded() {
	if i.ready != nil {
		_ = i.ready.Close()
	}
}

// Read implements [io.Reader].
func (i *fileInput) Read(p []byte) (int, error) {
	for {
		if i.ready != nil && i.raw.Read(isReadable) != nil {
			return 0, io.EOF // nobody wants more
		}
		foreground, hungUp := true, false
		if i.terminal {
			foreground, hungUp = i.look()
		}
		switch {
		case foreground:
			return i.f.Read(p)
		case hungUp:
			return 0, io.EOF
		}
		time.Sleep(foregroundLook)
	}
}

// look reports whether this program is in the foreground of the terminal, or the terminal is not that
// of its session, and nobody is stopped; and whether it has hung up.
func (i *fileInput) look() (foreground, hungUp bool) {
	foreground = true
	_ = control(i.f.file, func(fd int) {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		foreground = err != nil || group == unix.Getpgrp()
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		_, err = unix.Poll(fds, 0)
		hungUp = err == nil && fds[0].Revents&^unix.POLLIN != 0
	})
	return foreground, hungUp
}

// isReadable reports whether a descriptor can be read from.
func isReadable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}
