package status

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/internal/crowd"
	"bproc/wire"
)

// Server serves viewers of this machine's processes, each over a stream.
type Server struct {
	collector *Collector
	stamp     func() uint64
	bootID    string
	shows     *crowd.Shares[viewer] // one place for each stream of Show
	reads     *crowd.Shares[viewer] // one place for each Fetch or refresh in progress

	mu     sync.Mutex
	under  int         // fetches and refreshes in progress
	closed []io.Closer // to close when none is in progress; nil: Close was not called
}

// viewer is a user of the front end, or all users of a node: a node itself says for whom it asks.
type viewer struct {
	node wire.NodeID
	uid  uint32
}

func viewerOf(m *wire.Show) viewer {
	if m.From != nil {
		return viewer{node: *m.From}
	}
	return viewer{wire.FrontEnd, m.UID}
}

// Bounds of concurrent viewers. No viewer gets all places.
const (
	maxShows = 256
	maxReads = 64
)

// NewServer returns a Server. Stamp returns the number of the latest event.
func NewServer(cfg Config, stamp func() uint64) *Server {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		cfg.Log.Warn("times of start are told without a boot id", "err", err)
	}
	return &Server{
		collector: New(cfg), stamp: stamp, bootID: strings.TrimSpace(string(boot)),
		shows: crowd.NewShares[viewer](maxShows), reads: crowd.NewShares[viewer](maxReads),
	}
}

// Close closes the collector and the given closers as soon as no read of procfs is in progress. A
// read can take long; the error is nil then.
func (s *Server) Close(given ...io.Closer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = append([]io.Closer{s.collector}, given...)
	return s.closeLocked()
}

func (s *Server) closeLocked() (err error) {
	if s.under > 0 {
		return nil
	}
	for _, c := range s.closed {
		err = errors.Join(err, c.Close())
	}
	return err
}

// enter notes the begin of a read, unless the Server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return false
	}
	s.under++
	return true
}

// leave notes the end of a read.
func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under--; s.closed != nil {
		_ = s.closeLocked() // no caller is left to report it to
	}
}

// errManyLooks ends a look beyond the bounds.
var errManyLooks = fmt.Errorf("too many look at this node: %w", unix.EAGAIN)

// Fetch answers one request, and returns with an error when the stream ends.
func (s *Server) Fetch(stream io.ReadWriteCloser, reader *wire.Reader, request *wire.Fetch) error {
	give := func(p *wire.Piece) error {
		p.Event = s.stamp()
		return wire.Write(stream, 0, p)
	}
	if !s.start(viewer{wire.FrontEnd, request.UID}, func() { _ = s.collector.Fetch(request, give) }) { // an error is the stream's
		return give(&wire.Piece{Errno: uint32(unix.EAGAIN), Last: true})
	}
	_, _, err := reader.Read() // the master sends nothing more, and closes the stream in the end
	return err
}

// start runs a read of procfs concurrently with its stream, unless there are too many. Nothing
// waits for it: reading can take as long as the memory of a process is locked, and the session of
// this node must not wait. The read still counts then, and ends with an error of the stream.
func (s *Server) start(who viewer, read func()) bool {
	if !s.reads.Take(who, 1) {
		return false
	}
	if !s.enter() {
		s.reads.Leave(who, 1)
		return false
	}
	go func() {
		defer s.leave()
		defer s.reads.Leave(who, 1)
		read()
	}()
	return true
}

// Show first sends the origin of its times, then answers each Refresh of one viewer. It returns
// with an error when the stream ends.
func (s *Server) Show(stream io.ReadWriteCloser, reader *wire.Reader, request *wire.Show) error {
	who := viewerOf(request)
	if !s.shows.Take(who, 1) {
		return errManyLooks
	}
	defer s.shows.Leave(who, 1)
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return fmt.Errorf("time since boot: %w", err)
	}
	if err := wire.Write(stream, 0, &wire.Shown{BootID: s.bootID, Uptime: uint64(now.Nano())}); err != nil {
		return err
	}
	view := s.collector.View(request.Environ)
	idle := make(chan struct{}, 1) // the holder of its token owns the view
	idle <- struct{}{}
	for {
		m, number, err := reader.Read()
		if err != nil {
			return err
		}
		ask, ok := m.(*wire.Refresh)
		if !ok {
			return fmt.Errorf("%w: type %d of a viewer", wire.ErrFrame, m.Type())
		}
		select {
		case <-idle:
		default:
			return fmt.Errorf("%w: a viewer does not wait for the answer", wire.ErrFrame)
		}
		if !s.start(who, func() { s.refresh(stream, number, ask.Now, view, idle) }) {
			return errManyLooks
		}
	}
}

func (s *Server) refresh(stream io.ReadWriteCloser, number uint64, pressing bool, view *View, idle chan<- struct{}) {
	var frame []byte // one for all messages, because they are large
	err := view.Refresh(pressing, func(c *wire.Changed) (err error) {
		c.Event = s.stamp()
		if frame, err = wire.Append(frame[:0], number, c); err == nil {
			_, err = stream.Write(frame)
		}
		return err
	})
	if err != nil {
		stream.Close() // so Show returns
		return
	}
	idle <- struct{}{} // before the viewer can ask again
	_ = wire.Write(stream, number, new(wire.Refreshed))
}
