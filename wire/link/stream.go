package link

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

// A slave may leave a stream open that the master has dropped: a process may be slow to read what
// its client has left for it. Such a stream holds no bytes, but takes a few kilobytes of the
// master's memory. One that stays for longer than openTime is overdue. With more than maxOverdue of
// these the session ends, with all its streams. (yamux could reset each by a timer, but the timers
// would keep all streams of a session, with their bytes, until long after its end.)
var openTime = 10 * time.Minute // tests use a shorter time

const maxOverdue = 1024

// errOverdue ends the session of such a slave.
var errOverdue = fmt.Errorf("%w: the slave leaves streams open that were closed", ErrProtocol)

// muxed is a stream of yamux.
type muxed struct {
	*yamux.Stream
	s       *Session
	once    sync.Once
	dropped chan struct{} // closed by Drop
	gone    chan struct{} // closed when the stream is removed after that
	reading sync.Mutex    // held by the reader
	opened  bool          // by this side
	heard   atomic.Bool   // the other side has closed the stream, and all it has sent was read
	got     int           // bytes that were read, while that counts; guarded by reading
}

func (s *Session) stream(st *yamux.Stream) *muxed {
	return &muxed{Stream: st, s: s, dropped: make(chan struct{}), gone: make(chan struct{})}
}

// Gone implements [Stream].
func (m *muxed) Gone() <-chan struct{} { return m.gone }

// Read returns the bytes that are left even if yamux cannot send a window update, because the
// session has ended: the next Read returns the end.
func (m *muxed) Read(p []byte) (int, error) {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.isDropped() {
		return 0, io.EOF
	}
	n, err := m.read(p)
	if n > 0 {
		err = nil
		m.countRead(n)
	} else if errors.Is(err, io.EOF) {
		m.heard.Store(true)
	} else if err != nil && (m.isDropped() || m.s.readers.isOver()) { // this has woken it
		err = io.EOF
	}
	return n, err
}

// acceptAfter is the number of bytes after which the acceptance of a stream is not late any more: the opener may send
// 256 KiB before it has the acceptance.
const acceptAfter = 64 << 10

// countRead counts bytes that were read.
func (m *muxed) countRead(n int) {
	if m.got >= acceptAfter {
		return
	}
	if m.got += n; m.got >= acceptAfter && !m.opened {
		m.s.link.sendNow()
	}
}

// read reads even if the stream is dropped.
func (m *muxed) read(p []byte) (int, error) {
	m.s.readers.enter(m)
	defer m.s.readers.leave(m)
	return m.Stream.Read(p)
}

func (m *muxed) isDropped() bool {
	select {
	case <-m.dropped:
		return true
	default:
		return false
	}
}

// Close implements [Stream]. If the other side has closed the stream before, it waits for nothing more.
func (m *muxed) Close() error {
	if m.heard.Load() {
		return m.closeLate()
	}
	return m.Stream.Close()
}

// closeLate is Close, and lets the other side know later.
func (m *muxed) closeLate() error {
	m.s.link.beginLate(m.StreamID())
	defer m.s.link.endLate(m.StreamID())
	return m.Stream.Close()
}

// WriteLate implements [Stream].
func (m *muxed) WriteLate(p []byte) (int, error) {
	m.s.link.beginLate(m.StreamID())
	defer m.s.link.endLate(m.StreamID())
	return m.Write(p)
}

// Hurry implements [Stream].
func (m *muxed) Hurry() { m.s.link.sendNow() }

// Drop implements [Stream].
func (m *muxed) Drop() error {
	var err error
	m.once.Do(func() {
		if m.opened {
			err = m.closeLate()
		} else {
			err = m.Close()
		}
		close(m.dropped)
		_ = m.SetReadDeadline(past) // wakes the reader; cannot fail
		if !m.s.begin(m.drain) {
			close(m.gone)
		}
	})
	return err
}

// drain reads and discards bytes until the stream has ended, so that yamux releases it.
func (m *muxed) drain() {
	defer close(m.gone)
	overdue := time.AfterFunc(openTime, func() {
		if m.s.overdue.Add(1) > maxOverdue && m.opened && m.s.onMaster() {
			m.s.Close(errOverdue)
		}
	})
	defer func() {
		if !overdue.Stop() {
			m.s.overdue.Add(-1)
		}
	}()
	m.reading.Lock()   // until the reader has left; no other can enter
	m.reading.Unlock() //nolint:staticcheck // that is all
	var dropped [512]byte
	for {
		_ = m.SetReadDeadline(time.Time{}) // cannot fail
		n, err := m.read(dropped[:])
		m.Shrink()                                                        // an empty buffer keeps its greatest size
		over := !errors.Is(err, yamux.ErrTimeout) || m.s.readers.isOver() // else it was the deadline of Drop
		if n == 0 && err != nil && over {
			return
		}
	}
}
