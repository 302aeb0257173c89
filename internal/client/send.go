package client

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/bypass"
)

// Whoever reads the connection must not wait until it can be written to: at the other
// end the same may be waiting for us. So what has been taken is said at once where that
// is possible, and otherwise by the goroutine that sends input, or by one for the
// purpose.

// tell says how much of an output has been taken.
func (s *stream) tell(of int, taken uint64) {
	s.mu.Lock()
	s.taken[of] = taken
	s.mu.Unlock()
	s.sendSoon()
}

// sendSoon sends what is to be said, and does not wait for that. Where somebody else sends, that one
// sees it: after each frame it looks again.
func (s *stream) sendSoon() {
	for s.owes() && s.sending.TryLock() {
		s.mu.Lock()
		f, to := s.nextTakenLocked(), s.wayLocked()
		s.mu.Unlock()
		if f.some && !f.write(to, false) {
			go func() { // until the connection takes it, or ends
				s.sendFrame(f, to)
				s.sending.Unlock()
				s.send()
			}()
			return
		}
		s.sending.Unlock()
	}
}

// owes reports whether something is to be said of the outputs or of the terminal.
func (s *stream) owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.broken && !s.closed && s.err == nil && (s.resized || s.taken != s.told)
}

// resize says that the terminal of the process is to have a size.
func (s *stream) resize(size Size) {
	s.mu.Lock()
	s.size, s.resized = size, true
	s.mu.Unlock()
	s.sendSoon()
}

// send sends what is to be sent. When the connection has broken, the reader goes on
// with another.
func (s *stream) send() {
	for s.unsent() {
		s.sending.Lock()
		f, to := s.nextFrame()
		if f.some {
			s.sendFrame(f, to)
		}
		s.sending.Unlock()
	}
}

// unsent reports whether something can be sent.
func (s *stream) unsent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsentLocked()
}

func (s *stream) unsentLocked() bool {
	if s.broken || s.closed || s.err != nil {
		return false
	}
	_, some := s.kept.next(wire.MaxData)
	return some || s.told != s.taken || s.resized
}

// frame is what is to be sent next: one frame, or input for more than one.
type frame struct {
	header [wire.HeaderSize]byte
	data   []byte
	some   bool
}

// parts are the bytes of it.
func (f *frame) parts() [][]byte {
	if len(f.data) == 0 {
		return [][]byte{f.header[:]}
	}
	var parts [][]byte
	for data := range slices.Chunk(f.data, wire.MaxData) {
		header := make([]byte, wire.HeaderSize)
		wire.Header{Type: wire.TypeStdin, Length: uint32(len(data))}.Put(header)
		parts = append(parts, header, data)
	}
	return parts
}

// nextFrame returns what is to be sent next, and takes it for sent: the answer may be
// here before the write is over.
func (s *stream) nextFrame() (f frame, to way) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to = s.wayLocked()
	if f = s.nextTakenLocked(); f.some {
		return f, to
	}
	if f.data, f.some = s.kept.next(to.most()); f.some {
		s.kept.passed(f.data)
		wire.Header{Type: wire.TypeStdin}.Put(f.header[:]) // that of the end
	}
	return f, to
}

// way is where frames go: by a bypass, or, where that is nil, by the connection to the master.
type way struct {
	conn *os.File
	past *bypass.Conn
}

// most is how many bytes of input go at once. The master is to be free for others after each frame.
func (w way) most() uint64 {
	if w.past != nil {
		return wire.AtOnce
	}
	return wire.MaxData
}

func (s *stream) wayLocked() way { return way{s.conn, s.past} }

// nextTakenLocked is nextFrame for what says that output has been taken, or that the
// terminal has another size.
func (s *stream) nextTakenLocked() (f frame) {
	if s.resized {
		s.resized, f.some = false, true
		wire.Header{Type: wire.TypeResize, Number: uint64(s.size)}.Put(f.header[:])
		return f
	}
	for of, taken := range s.taken {
		if taken > s.told[of] {
			s.told[of] = taken
			wire.Header{Type: wire.TypeStdoutTaken + wire.Type(of), Number: taken}.Put(f.header[:])
			f.some = true
			break
		}
	}
	return f
}

// sendFrame sends a frame, and notes when that is not possible.
func (s *stream) sendFrame(f frame, to way) {
	if f.write(to, true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = s.broken || s.wayLocked() == to
}

// write writes a frame without copying its payload; false: it could not, or not
// without waiting. A header alone is written as a whole or not at all.
func (f *frame) write(to way, wait bool) bool {
	rest := f.parts()
	if to.past != nil { // the node always reads
		return to.past.WriteParts(rest...) == nil
	}
	raw, err := to.conn.SyscallConn()
	if err != nil {
		return false
	}
	written := false
	err = raw.Write(func(fd uintptr) bool {
		for len(rest) > 0 {
			n, err := unix.Writev(int(fd), rest)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case errors.Is(err, unix.EAGAIN):
				return !wait
			case err != nil:
				return true
			}
			rest = after(rest, n)
		}
		written = true
		return true
	})
	return written && err == nil
}

// after returns what is left of rest after n bytes.
func after(rest [][]byte, n int) [][]byte {
	for len(rest) > 0 && n >= len(rest[0]) {
		n -= len(rest[0])
		rest = rest[1:]
	}
	if len(rest) > 0 {
		rest[0] = rest[0][n:]
	}
	return rest
}
