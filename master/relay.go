package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// stream is what the relay needs of a process stream.
type stream interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Sizes of the relay's buffers, in bytes. A process that says little, as most
// do most of the time, keeps only a small one.
const (
	smallBuffer = 512
	largeBuffer = 256 << 10
)

var largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}

// frameWalk follows the frames in a sequence of bytes that arrives in pieces.
type frameWalk struct {
	left    int                   // bytes of the current frame's payload still to come
	partial [wire.HeaderSize]byte // of a header that came in two pieces
	have    int                   // bytes in partial
}

// next walks over b to the next header. It returns how many bytes belong to
// what was before, and the header once it is complete.
func (w *frameWalk) next(b []byte) (before int, h wire.Header, ok bool, err error) {
	before = min(w.left, len(b))
	w.left -= before
	if w.left > 0 || before == len(b) {
		return before, h, false, nil
	}
	n := copy(w.partial[w.have:], b[before:])
	w.have += n
	if w.have < wire.HeaderSize {
		return before, h, false, nil
	}
	w.have = 0
	if h, err = wire.ParseHeader(w.partial[:]); err != nil {
		return before, h, false, err
	}
	if !h.Type.IsData() {
		return before, h, false, fmt.Errorf("%w: type %d among the data of a process", wire.ErrFrame, h.Type)
	}
	w.left = int(h.Length)
	return before, h, true, nil
}

// over walks over all of b.
func (w *frameWalk) over(b []byte) error {
	for len(b) > 0 {
		had := w.have
		before, _, ok, err := w.next(b)
		if err != nil || !ok {
			return err
		}
		b = b[before+wire.HeaderSize-had:]
	}
	return nil
}

// gate is asked with the header of each frame before that goes out. It returns what has to be
// waited for; nil: nothing.
type gate func(wire.Header) (wait func() error, err error)

// frames copies frames of plain bytes from src to dst.
func frames(dst io.Writer, src io.Reader, pass gate) error {
	small := make([]byte, smallBuffer)
	buf := small
	var large *[largeBuffer]byte
	defer func() {
		if large != nil {
			largeBuffers.Put(large)
		}
	}()
	var walk frameWalk
	keep := 0 // bytes of an incomplete header at the start of buf
	for {
		n, err := src.Read(buf[keep:])
		if n > 0 {
			if keep, err = forward(dst, buf[:keep+n], keep, &walk, pass); err != nil {
				return err
			}
		}
		if err != nil {
			return ended(err)
		}
		switch {
		case n >= len(buf)-keep && large == nil:
			large = largeBuffers.Get().(*[largeBuffer]byte)
			copy(large[:], walk.partial[:keep])
			buf = large[:]
		case n < smallBuffer/2 && large != nil:
			copy(small, walk.partial[:keep])
			largeBuffers.Put(large)
			buf, large = small, nil
		case keep > 0:
			copy(buf, walk.partial[:keep])
		}
	}
}

// forward writes the complete part of b, at once unless a frame has to wait. The first seen bytes
// are those of an incomplete header that the walk has seen before. It returns how many bytes of
// an incomplete header are at the end.
func forward(dst io.Writer, b []byte, seen int, walk *frameWalk, pass gate) (int, error) {
	start, at := 0, seen
	for at < len(b) {
		had := walk.have
		before, h, ok, err := walk.next(b[at:])
		if err != nil {
			return 0, err
		}
		at += before
		if !ok {
			break
		}
		header := at - had // where the header begins
		at = header + wire.HeaderSize
		wait, err := pass(h)
		if err == nil && wait != nil {
			if header > start {
				_, err = dst.Write(b[start:header])
				start = header
			}
			if err == nil {
				err = wait()
			}
		}
		if err != nil {
			return 0, err
		}
	}
	end := len(b) - walk.have
	if end > start {
		if _, err := dst.Write(b[start:end]); err != nil {
			return 0, err
		}
	}
	return walk.have, nil
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// relayOut copies what a process says to its client, each frame when the ghosts
// of the births before it exist, and so what says of a bypass that they do. What the process has taken says nothing of those.
func relayOut(ctx context.Context, client io.Writer, node io.Reader, b *barrier) error {
	return frames(client, node, func(h wire.Header) (func() error, error) {
		switch h.Type {
		case wire.TypeStdout, wire.TypeStderr, wire.TypeEffective:
		case wire.TypeStdinTaken:
			return nil, nil
		default:
			return nil, fmt.Errorf("%w: a node sends type %d", wire.ErrFrame, h.Type)
		}
		if b.Passed(h.Number) {
			return nil, nil
		}
		return func() error { return b.Wait(ctx, h.Number) }, nil
	})
}

// relayIn copies standard input, and what else a client says of it, from a client to its process until the client
// closes the connection.
func relayIn(client io.Reader, in *inlet) error {
	return frames(in, client, func(h wire.Header) (func() error, error) {
		switch h.Type {
		case wire.TypeStdin, wire.TypeStdoutTaken, wire.TypeStderrTaken, wire.TypeResize:
			return nil, nil
		default:
			return nil, fmt.Errorf("%w: a client sends type %d", wire.ErrFrame, h.Type)
		}
	})
}

// inlet writes to a process stream. A process that does not read its input
// must not hide that the client has gone, so a write that waits looks there
// from time to time. After the stream has come to its end, input is dropped.
type inlet struct {
	gone func() bool // the client has
	node stream
	dead bool
}

// lookAfter is how long a write waits before it looks whether the client is
// still there.
const lookAfter = time.Second

func (i *inlet) Write(b []byte) (int, error) {
	total := len(b)
	for len(b) > 0 && !i.dead {
		if err := i.node.SetWriteDeadline(time.Now().Add(lookAfter)); err != nil {
			return 0, err
		}
		n, err := i.node.Write(b)
		b = b[n:]
		switch {
		case err == nil:
		case !isTimeout(err):
			i.dead = true
		case i.gone():
			return 0, io.ErrClosedPipe
		}
	}
	return total, nil
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// hungUp reports whether the other end of a unix socket is closed, though there
// may be bytes left to read (poll(2): POLLHUP).
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}
