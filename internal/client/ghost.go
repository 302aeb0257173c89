package client

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/pidfd"
)

// ghost is a child that executes the ghost's image.
//
// It is reaped through a process descriptor (pidfd_open(2)): the Go runtime
// polls that with everything else, where a blocked wait4(2) would hold a thread
// for each child. os.StartProcess would do, but makes a process of its own to
// see what the kernel can do, which costs more than the ghost.
type ghost struct {
	pid  int
	file *os.File // process descriptor
	raw  syscall.RawConn
}

// fork makes a ghost with the arguments of its command. It has no environment,
// which nobody would read, no descriptors, and / as its directory, so that it
// keeps no file system busy. It may lead a session.
func fork(image string, argv []string, leads bool) (*ghost, error) {
	attr := syscall.ProcAttr{Dir: "/"}
	if leads {
		attr.Sys = &syscall.SysProcAttr{Setsid: true}
	}
	pid, err := syscall.ForkExec(image, argv, &attr)
	if err != nil {
		return nil, fmt.Errorf("start a ghost: %s: %w", image, err)
	}
	g := &ghost{pid: pid}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err == nil {
		g.file = os.NewFile(uintptr(fd), "ghost")
		g.raw, err = g.file.SyscallConn()
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = g.reap()
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	return g, nil
}

// awaitEnd waits for the ghost's end.
func (g *ghost) awaitEnd() error {
	if err := g.raw.Read(func(fd uintptr) bool { return pidfd.Ended(int(fd), 0) }); err != nil {
		return fmt.Errorf("wait for ghost %d: %w", g.pid, err)
	}
	return nil
}

// wait waits for the ghost's end and reaps it.
func (g *ghost) wait() (Status, error) {
	if err := g.awaitEnd(); err != nil {
		return 0, err
	}
	defer g.file.Close()
	return g.reap()
}

// ended reports whether the ghost has ended.
func (g *ghost) ended() bool {
	is := true
	if err := g.raw.Control(func(fd uintptr) { is = pidfd.Ended(int(fd), 0) }); err != nil {
		return true // it has been reaped
	}
	return is
}

// expired reports whether the ghost has ended because nobody has adopted it: the
// keeper drops the signal of its alarm (setitimer(2)). It is not reaped.
func (g *ghost) expired() bool {
	const killed, offset = 2, 24 // sigaction(2): CLD_KILLED; si_status in siginfo_t
	var info unix.Siginfo
	var err error
	if g.raw.Control(func(fd uintptr) {
		err = unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	}) != nil || err != nil || info.Code != killed {
		return false
	}
	status := *(*int32)(unsafe.Add(unsafe.Pointer(&info), offset))
	return unix.Signal(status) == unix.SIGALRM
}

// reap waits for a process that has ended. That may still take a moment: its
// tracer, the keeper, reaps it first.
func (g *ghost) reap() (Status, error) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(g.pid, &ws, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			if err != nil {
				err = fmt.Errorf("wait for ghost %d: %w", g.pid, err)
			}
			return Status(ws), err
		}
	}
}

func (g *ghost) signal(sig syscall.Signal) error {
	var errno error
	err := g.raw.Control(func(fd uintptr) {
		errno = unix.PidfdSendSignal(int(fd), sig, nil, 0)
	})
	if err != nil || errors.Is(errno, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return errno
}

// patience is how long the master may take to end a ghost whose command failed.
const patience = 2 * time.Second

// discard ends a ghost that got no process, and reaps it. One that the master
// has adopted it ends itself.
func (g *ghost) discard(adopted bool) {
	if !adopted {
		_ = g.signal(unix.SIGKILL)
	}
	for range 2 {
		_ = g.file.SetReadDeadline(time.Now().Add(patience))
		if _, err := g.wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		_ = g.signal(unix.SIGKILL)
	}
	// The keeper holds it, and nobody tells it what to do. Whoever reaps
	// our children after us gets it, or a later wait of this goroutine.
	_ = g.file.SetReadDeadline(time.Time{})
	go func() { _, _ = g.wait() }()
}
