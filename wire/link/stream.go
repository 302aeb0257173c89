package link

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// resetAfter is how long a slave may leave a stream open that the master has closed. It is
// long: a process may be slow to read what its client has left for it, and a reset would
// take that away. Meanwhile the stream keeps no bytes.
var resetAfter = 10 * time.Minute // tests have it shorter

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
	n, err := m.Stream.Read(p)
	if n > 0 {
		err = nil
	} else if err != nil && m.isDropped() { // that has woken it up
		err = io.EOF
	}
	return n, err
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
		_ = m.SetReadDeadline(time.Unix(1, 0)) // wakes up who reads; it cannot fail
		select {
		case m.s.dropped <- m:
		case <-m.s.link.done:
			close(m.gone)
		}
	})
	return err
}

// drain reads what nobody wants until the stream has ended, so that yamux does not keep it.
func (m *muxed) drain() error {
	defer close(m.gone)
	m.reading.Lock()   // until who reads has left; others do not come in
	m.reading.Unlock() //nolint:staticcheck // that is all
	var dropped [512]byte
	for {
		_ = m.SetReadDeadline(time.Time{}) // it cannot fail
		n, err := m.Stream.Read(dropped[:])
		if n < len(dropped) {
			m.Shrink() // an empty buffer is as large as it has ever been
		}
		if n == 0 && err != nil && !errors.Is(err, yamux.ErrTimeout) { // by the deadline of before
			return nil
		}
	}
}
