package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/bypass"
)

// stream carries the bytes of a process's standard descriptors. When its connection to
// the master breaks, another takes its place, and both sides go on after what the
// other has (see "What is lost with a daemon" in wire/PROTOCOL.md).
//
// One goroutine at a time is the reader of the connection. Mostly it is the one that
// waits for the process. When input waits until the node takes some, and nobody reads
// that it has, the goroutine of the input is the reader; output that it finds is left
// in stash, at most a window of each. The reader also sees to another connection.
type stream struct {
	client *Client
	ghost  *ghost // nil, as in remote
	attach wire.Attach

	sending sync.Mutex // held while input is sent; taken before mu

	mu      sync.Mutex
	changed sync.Cond // what follows has
	conn    *os.File
	closed  bool
	gone    chan struct{} // closed then
	pending io.Closer     // a connection that is to take the place of conn or past, once the other end has answered
	err     error         // why there is no connection any more
	reading bool          // there is a reader
	moving  bool          // the frames are about to go by a bypass: nobody is to read
	waited  bool          // somebody waits for output, and is the reader soon if there is none
	broken  bool          // the connection does not take input any more
	stash   []piece
	stashed int
	frames  frames
	kept    kept
	taken   [2]uint64 // bytes of the outputs
	told    [2]uint64 // how many of them the node has been told
	size    Size      // that the terminal is to have
	resized bool      // and the node has not been told

	asking    bool          // a bypass is being made
	asked     time.Time     // when one was asked for last
	pause     time.Duration // after which another one may be asked for, if longer than usual
	pastFrom  uint64        // bytes that had gone when the bypass began
	past      *bypass.Conn  // the bypass, by which the frames go; conn is beside it; nil: there is none
	effective uint64        // event that has had its effect, with all before
	aside     bool          // conn has ended beside the bypass
}

func newStream(client *Client, g *ghost, conn *os.File, attach wire.Attach, stdio [3]wire.Descriptor) *stream {
	s := &stream{client: client, ghost: g, conn: conn, attach: attach, gone: make(chan struct{})}
	s.changed.L = &s.mu
	for i := range s.frames.due {
		s.frames.stream[i] = stdio[1+i].Mode == wire.DescriptorStream
	}
	s.frames.due = s.frames.stream
	return s
}

// streams returns how many outputs come over the connection.
func (s *stream) streams() int {
	n := 0
	for _, is := range s.frames.stream {
		if is {
			n++
		}
	}
	return n
}

// close ends the connection. While the process lives, that means to hang up.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		close(s.gone)
	}
	s.closed = true
	s.conn.Close()
	if s.pending != nil {
		s.pending.Close()
	}
	if s.past != nil {
		s.past.Close()
	}
	s.changed.Broadcast()
}

// errClosed is the error for output after close.
var errClosed = errors.New("the connection was closed")

// next waits for output and appends it to output. done must be called when it is not
// needed any more.
func (s *stream) next(output []piece) (all []piece, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case len(s.stash) > 0:
			all, s.stash, s.stashed = append(output, s.stash...), nil, 0
			return all, func() {}, nil
		case s.err != nil:
			return nil, nil, s.err
		case s.closed:
			return nil, nil, errClosed
		case s.reading || s.moving:
			s.changed.Wait()
			continue
		}
		all, buf := s.readLocked(output)
		if len(all) > 0 {
			return all, func() { outputBuffers.Put(buf) }, nil
		}
		if buf != nil {
			outputBuffers.Put(buf)
		}
	}
}

// turn is for how long input leaves it to the one who waits for output to read that
// the node has taken some.
const turn = 20 * time.Millisecond

// await waits until ok holds, of what mu guards; false: it never will.
func (s *stream) await(ok func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	late, timer := false, (*time.Timer)(nil)
	for !ok() {
		switch {
		case s.err != nil || s.closed:
			return false
		case s.reading || s.moving:
			s.changed.Wait()
		case s.waited && !late:
			if timer == nil {
				timer = time.AfterFunc(turn, func() {
					s.mu.Lock()
					late = true
					s.mu.Unlock()
					s.changed.Broadcast()
				})
				defer timer.Stop()
			}
			s.changed.Wait()
		default:
			s.putAsideLocked()
		}
	}
	return true
}

// putAsideLocked reads, and leaves the output for the one who waits for it.
func (s *stream) putAsideLocked() {
	output, buf := s.readLocked(nil)
	if buf == nil {
		return
	}
	for _, p := range output {
		s.stashed += len(p.data)
		s.stash = append(s.stash, piece{p.of, append([]byte(nil), p.data...)})
	}
	outputBuffers.Put(buf)
	if s.stashed > 2*wire.Window {
		s.failLocked(fmt.Errorf("%w: more output than the window has room for", wire.ErrFrame))
	}
}

// readLocked is the reader for one read. It appends the output that has come, and
// returns the buffer that has it.
func (s *stream) readLocked(output []piece) ([]piece, *[outputBuffer]byte) {
	s.reading = true
	defer func() {
		s.reading = false
		s.changed.Broadcast()
	}()
	if s.past != nil {
		return s.readPastLocked(output)
	}
	conn := s.conn
	s.mu.Unlock()
	raw, err := conn.SyscallConn()
	var buf *[outputBuffer]byte
	n := 0
	if err == nil {
		buf, n, err = receive(raw)
	}
	s.mu.Lock()
	if s.moving && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, buf
	}
	if err != nil || n == 0 {
		if !s.closed {
			s.renewLocked()
		}
		return nil, buf
	}
	output, err = s.frames.take(output, buf[:n])
	if err == nil {
		err = s.kept.take(s.frames.taken)
	}
	if err != nil {
		s.failLocked(err)
	}
	return output, buf
}

// failLocked gives the connection up.
func (s *stream) failLocked(err error) {
	s.err = err
	s.conn.Close()
	if s.past != nil {
		s.past.Close()
	}
	s.changed.Broadcast()
}

// outputBuffer is how much is read from the master at once.
const outputBuffer = 128 << 10

var outputBuffers = sync.Pool{New: func() any { return new([outputBuffer]byte) }}

// receive waits until there is something to read and only then takes a buffer
// for it: a process that is silent needs none.
func receive(raw syscall.RawConn) (buf *[outputBuffer]byte, n int, err error) {
	waitErr := raw.Read(func(fd uintptr) bool {
		buf = outputBuffers.Get().(*[outputBuffer]byte)
		for {
			n, err = unix.Read(int(fd), buf[:])
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				outputBuffers.Put(buf)
				buf = nil
				return false
			default:
				return true
			}
		}
	})
	if waitErr != nil {
		return nil, 0, waitErr
	}
	return buf, max(n, 0), err
}
