package rights

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/peer"
	"bproc/internal/quietsock"
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
	sock   *quietsock.Conn
	frames *wire.Reader
	oob    []byte
	fds    []int // came with the frame that is being read

	mu  sync.Mutex // keeps the frames of several writers apart
	buf []byte     // reused by Write
}

// New returns a Conn on sock, which it owns from now on, whatever the error.
func New(sock *net.UnixConn) (*Conn, error) {
	quiet, err := quietsock.New(sock)
	if err != nil {
		return nil, err
	}
	// One more than allowed, so that a frame with too many is detected.
	c := &Conn{sock: quiet, oob: make([]byte, unix.CmsgSpace((MaxDescriptors+1)*4))}
	c.frames = wire.NewReader(receiver{c})
	return c, nil
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

// Unread returns how many bytes are ready to be read; 0 after Close.
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

// Read returns the next message, its number and the descriptors that came with it. These are
// close-on-exec, and the caller closes them.
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
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, err = c.sock.WriteMsg(b, oob)
	return err
}

// Close closes descriptors.
func Close(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // the descriptor is gone whatever close(2) returns
	}
}

// receiver is the io.Reader that collects descriptors on the way.
type receiver struct{ *Conn }

func (r receiver) Read(p []byte) (int, error) {
	n, oobn, flags, err := r.sock.ReadMsg(p, r.oob)
	if err != nil {
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
