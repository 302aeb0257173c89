package link

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// A slave may leave a stream open that the master has dropped: a process may be slow to read what
// its client has left for it. Such a stream keeps no bytes, but a few kilobytes of the master's
// memory. One that stays for longer than openTime is overdue, and with more than maxOverdue of these
// the session ends, and all its streams with it. (yamux could reset each by a timer, which
// would keep all streams of a session, with their bytes, until long after its end.)
var openTime = 10 * time.Minute // tests have it shorter

const maxOverdue = 1024

// errOverdue is why the session with such a slave ends.
var errOverdue = fmt.Errorf("%w: the slave leaves streams open that were closed", ErrProtocol)

// muxed is a stream of yamux.
type muxed struct {
	*yamux.Stream
	s       *Session
	once    sync.Once
	dropped chan struct{} // closed then
	gone    chan struct{} // closed when nothing is left of it after that
	reading sync.Mutex    // held by who reads
}

func (s *Session) stream(st *yamux.Stream) *muxed {
	return &muxed{Stream: st, s: s, dropped: make(chan struct{}), gone: make(chan struct{})}
}

// Gone implements [Stream].
func (m *muxed) Gone() <-chan struct{} { return m.gone }

// Read hands out what there is, also where yamux cannot tell the other side so any more,
// since the session has ended: what comes next says that.
func (m *muxed) Read(p []byte) (int, error) {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.isDropped() {
		return 0, io.EOF
	}
	n, err := m.read(p)
	if n > 0 {
		err = nil
	} else if err != nil && (m.isDropped() || m.s.readers.isOver()) { // that has woken it up
		err = io.EOF
	}
	return n, err
}

// read reads, also while the stream is dropped.
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

// Drop implements [Stream].
func (m *muxed) Drop() error {
	var err error
	m.once.Do(func() {
		err = m.Close()
		close(m.dropped)
		_ = m.SetReadDeadline(past) // wakes up who reads; it cannot fail
		if !m.s.begin(m.drain) {
			close(m.gone)
		}
	})
	return err
}

// drain reads what nobody wants until the stream has ended, so that yamux does not keep it.
func (m *muxed) drain() {
	defer close(m.gone)
	overdue := time.AfterFunc(openTime, func() {
		if m.s.overdue.Add(1) > maxOverdue && m.s.onMaster() {
			m.s.Close(errOverdue)
		}
	})
	defer func() {
		if !overdue.Stop() {
			m.s.overdue.Add(-1)
		}
	}()
	m.reading.Lock()   // until who reads has left; others do not come in
	m.reading.Unlock() //nolint:staticcheck // that is all
	var dropped [512]byte
	for {
		_ = m.SetReadDeadline(time.Time{}) // it cannot fail
		n, err := m.read(dropped[:])
		m.Shrink()                                                        // an empty buffer is as large as it has ever been
		over := !errors.Is(err, yamux.ErrTimeout) || m.s.readers.isOver() // else by the deadline of before
		if n == 0 && err != nil && over {
			return
		}
	}
}
