package rights

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/peer"
	"bproc/wire"
)

// MaxDescriptors bounds the descriptors of one frame. The kernel allows 253
// (SCM_MAX_FD).
const MaxDescriptors = 64

// ErrDescriptors is the error for a peer that sends more descriptors than a
// frame can have.
var ErrDescriptors = errors.New("too many descriptors with a frame")

// Conn is a connection. One goroutine may read, any number may write.
type Conn struct {
	sock   *net.UnixConn
	frames *wire.Reader
	oob    []byte
	fds    []int // came with the frame that is being read

	mu  sync.Mutex // holds the frames of several writers apart
	buf []byte     // reused by Write
}

// New returns a Conn on sock, which it owns from now on.
func New(sock *net.UnixConn) *Conn {
	// One more than allowed, so that a frame with too many is told from one with enough.
	c := &Conn{sock: sock, oob: make([]byte, unix.CmsgSpace((MaxDescriptors+1)*4))}
	c.frames = wire.NewReader(receiver{c})
	return c
}

// Close ends the connection. A Read or Write that is under way returns.
func (c *Conn) Close() error { return c.sock.Close() }

// Shut ends the connection for the peer: neither side can write any more, and what has
// been written before can still be read.
func (c *Conn) Shut() error {
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return err
	}
	var shutErr error
	err = raw.Control(func(fd uintptr) { shutErr = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	return errors.Join(err, shutErr)
}

// Unread returns how many bytes are there to be read; 0 after Close.
func (c *Conn) Unread() int {
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return 0
	}
	unread := 0
	_ = raw.Control(func(fd uintptr) { unread, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	return unread
}

// SetReadDeadline bounds the next Read; the zero time takes the bound away.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.sock.SetReadDeadline(t) }

// PeerUID returns the user that opened the other end.
func (c *Conn) PeerUID() (uint32, error) {
	cred, err := peer.Of(c.sock)
	return cred.Uid, err
}

// Read returns the next message, its number and the descriptors that came with
// it, which are close-on-exec and the caller's to close.
func (c *Conn) Read() (wire.Message, uint64, []int, error) {
	m, number, err := c.frames.Read()
	fds := c.fds
	c.fds = nil
	if err != nil {
		Close(fds)
		return nil, 0, nil, err
	}
	return m, number, fds, nil
}

// Write sends a message with descriptors. The caller may close them when Write
// has returned.
func (c *Conn) Write(number uint64, m wire.Message, fds ...int) error {
	if len(fds) > MaxDescriptors {
		return ErrDescriptors
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := wire.Append(c.buf[:0], number, m)
	if err != nil {
		return err
	}
	if cap(b) <= wire.MaxData {
		c.buf = b
	}
	if len(fds) > 0 {
		// A stream socket takes what fits and says how much; the descriptors go with the first byte.
		n, _, err := c.sock.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	if len(b) == 0 {
		return nil
	}
	_, err = c.sock.Write(b)
	return err
}

// Close closes descriptors.
func Close(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // the descriptor is gone whatever close(2) says
	}
}

// receiver is the io.Reader that collects descriptors on the way.
type receiver struct{ *Conn }

func (r receiver) Read(p []byte) (int, error) {
	n, oobn, flags, _, err := r.sock.ReadMsgUnix(p, r.oob)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.EOF // package net wraps it here; readers of package io compare
		}
		return n, err
	}
	if oobn > 0 {
		if err := r.collect(r.oob[:oobn]); err != nil {
			return n, err
		}
	}
	if flags&unix.MSG_CTRUNC != 0 || len(r.fds) > MaxDescriptors {
		return 0, ErrDescriptors // not n: with its last byte a frame would be complete
	}
	return n, nil
}

func (r receiver) collect(oob []byte) error {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("control message: %w", err)
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return fmt.Errorf("control message: %w", err)
		}
		r.fds = append(r.fds, fds...)
	}
	return nil
}
