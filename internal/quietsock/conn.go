package quietsock

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a connected stream socket. One goroutine may read, and any number may write. The bytes of
// concurrent writes may mix.
type Conn struct {
	sock  *os.File // in blocking mode, so that the runtime's poller does not watch it
	raw   syscall.RawConn
	ready *os.File // the epoll instance: readable while sock is
	wait  syscall.RawConn

	closed atomic.Bool
}

// New takes over a connection. On error it closes the connection.
func New(conn *net.UnixConn) (*Conn, error) {
	sock, err := takeOver(conn)
	if err != nil {
		return nil, fmt.Errorf("take over a connection: %w", err)
	}
	ready, err := watch(sock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch a connection: %w", err), unix.Close(sock))
	}
	c := &Conn{sock: os.NewFile(uintptr(sock), "connection"), ready: os.NewFile(uintptr(ready), "readiness of a connection")}
	c.raw, err = c.sock.SyscallConn()
	if err == nil {
		c.wait, err = c.ready.SyscallConn()
	}
	if err != nil {
		return nil, errors.Join(err, c.ready.Close(), c.sock.Close())
	}
	return c, nil
}

// takeOver returns the socket as a descriptor unknown to the runtime.
func takeOver(conn *net.UnixConn) (int, error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	sock, dupErr := -1, error(nil)
	err = raw.Control(func(fd uintptr) { sock, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, dupErr); err != nil {
		return -1, err
	}
	// The socket blocks; calls that must not block use MSG_DONTWAIT.
	if err := unix.SetNonblock(sock, false); err != nil {
		return -1, errors.Join(err, unix.Close(sock))
	}
	return sock, nil
}

// watch returns an epoll instance that is readable while the socket is. The instance is in
// non-blocking mode, so that the runtime's poller watches it.
func watch(sock int) (int, error) {
	ready, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1, err
	}
	err = unix.EpollCtl(ready, unix.EPOLL_CTL_ADD, sock, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP})
	if err == nil {
		err = unix.SetNonblock(ready, true)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(ready))
	}
	return ready, nil
}

// SyscallConn implements [syscall.Conn]. Its Control is for calls on the socket; its Read and Write
// do not wait.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

// SetReadDeadline sets a deadline for reads; the zero time removes it.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.ready.SetReadDeadline(t) }

// Read implements [io.Reader].
func (c *Conn) Read(p []byte) (n int, err error) {
	n, _, _, err = c.ReadMsg(p, nil)
	return n, err
}

// ReadMsg is Read that also receives control messages. It returns their number of bytes and the
// flags, as recvmsg(2) does.
func (c *Conn) ReadMsg(p, oob []byte) (n, oobn, flags int, err error) {
	waited := c.wait.Read(func(uintptr) bool {
		if gone := c.raw.Control(func(fd uintptr) { n, oobn, flags, err = receive(int(fd), p, oob) }); gone != nil {
			err = gone
		}
		return !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case waited != nil:
		return 0, 0, 0, c.blame(waited)
	case err != nil:
		return 0, 0, 0, c.blame(err)
	case n == 0 && len(p) > 0:
		return 0, oobn, flags, c.blame(io.EOF)
	}
	return n, oobn, flags, nil
}

func receive(fd int, p, oob []byte) (n, oobn, flags int, err error) {
	for {
		n, oobn, flags, _, err = unix.Recvmsg(fd, p, oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), oobn, flags, os.NewSyscallError("recvmsg", err)
		}
	}
}

// Write implements [io.Writer].
func (c *Conn) Write(p []byte) (int, error) { return c.WriteMsg(p, nil) }

// WriteMsg is Write that also sends a control message with the first byte.
func (c *Conn) WriteMsg(p, oob []byte) (written int, err error) {
	for written < len(p) {
		n, err := c.send(p[written:], oob)
		if n > 0 {
			written, oob = written+n, nil
		}
		if errors.Is(err, unix.EAGAIN) {
			err = c.awaitRoom()
		}
		if err != nil {
			return written, c.blame(err)
		}
	}
	return written, nil
}

// TryWrite writes as much as there is room for, and returns that number of bytes. An error appears
// with the next Write.
func (c *Conn) TryWrite(p []byte) int {
	n, _ := c.send(p, nil)
	return n
}

func (c *Conn) send(p, oob []byte) (n int, err error) {
	gone := c.raw.Control(func(fd uintptr) {
		for {
			n, err = unix.SendmsgN(int(fd), p, oob, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	if gone != nil {
		return 0, gone
	}
	return max(n, 0), os.NewSyscallError("sendmsg", err)
}

// awaitRoom waits until there is room to write, or until the connection is closed.
func (c *Conn) awaitRoom() (err error) {
	gone := c.raw.Control(func(fd uintptr) {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
	})
	if errors.Is(err, unix.EINTR) {
		err = nil
	}
	return errors.Join(gone, os.NewSyscallError("poll", err))
}

// Close closes the connection. A pending Read or Write returns.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	_ = c.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) }) // wakes a waiting writer
	return errors.Join(c.ready.Close(), c.sock.Close())
}

// blame returns net.ErrClosed for any error of a closed connection.
func (c *Conn) blame(err error) error {
	if c.closed.Load() {
		return net.ErrClosed
	}
	return err
}
