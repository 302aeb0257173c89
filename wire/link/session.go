package link

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	window  = 1 << 20 // bytes of a stream that the reader may be behind
	backlog = 256     // streams that one side has opened and the other has not accepted; each may already have bytes
)

// Session is one end of a link, with its streams. It survives the loss of its
// connections.
type Session struct {
	link  *link
	log   *slog.Logger
	peer  Peer
	carry func(context.Context) error // makes the slave's connections; nil on the master

	certificate atomic.Pointer[Validity] // of the slave, on the latest connection; only on the master

	opening sync.Mutex // held while the master replaces a connection

	ready   chan struct{} // closed when mux is set
	mux     *yamux.Session
	readers readers
	overdue atomic.Int32 // streams that were dropped openTime ago and are not gone

	opens chan struct{} // full while a stream is being opened

	mu   sync.Mutex
	over bool           // no new goroutine may start
	work sync.WaitGroup // the goroutines started by begin
}

// Stream is a stream of bytes each way. Close ends the sending direction; the other side reads what
// was written, and then io.EOF. One goroutine may read and one may write.
//
// Drop is Close for a stream that is not used any more: the session reads and discards what the
// other side still sends. The channel of Gone is closed when the stream is removed after that. The
// session of a slave that leaves many dropped streams open for long is closed.
//
// WriteLate is Write of a few bytes that nobody waits for: unless something else is sent before, by this
// stream or another, they are sent within lateTime, or with the next call of Hurry.
//
// A write deadline bounds only the wait for a reader that is behind: while the link is cut and its
// send buffer full, writing waits for the link.
type Stream interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	WriteLate([]byte) (int, error)
	Hurry()
	Drop() error
	Gone() <-chan struct{}
}

func newSession(l *link, log *slog.Logger) *Session {
	return &Session{link: l, log: log, ready: make(chan struct{}), opens: make(chan struct{}, 1)}
}

// Run carries the session until it ends, and returns the reason. When ctx ends, the other side is
// told that the link ends. Run owns all goroutines of the session except those of a Listener.
func (s *Session) Run(ctx context.Context) error {
	return s.run(ctx, func() {
		select {
		case <-ctx.Done():
		case <-s.link.done:
		}
	})
}

// Serve is Run, and calls serve for each stream that the other side opens, one after the other.
// serve must not block after ctx or the session has ended.
func (s *Session) Serve(ctx context.Context, serve func(Stream)) error {
	return s.run(ctx, func() {
		accepting, stop := context.WithCancel(ctx)
		defer stop()
		s.link.atEnd(stop)
		for {
			stream, err := s.Accept(accepting)
			if err != nil {
				return
			}
			serve(stream)
		}
	})
}

// run carries the session until wait returns.
func (s *Session) run(ctx context.Context, wait func()) error {
	open := yamux.Server
	if !s.onMaster() {
		open = yamux.Client
	}
	mux, err := open(s.link, s.muxConfig())
	if err != nil {
		s.Close(err)
		return err
	}
	s.mux = mux
	close(s.ready)
	if s.carry != nil {
		s.begin(func() { _ = s.carry(ctx) })
	}
	wait()
	if ctx.Err() != nil {
		s.link.close(context.Cause(ctx), true)
	}
	s.readers.end()
	_ = mux.Close() // waits for its goroutines
	s.end()
	s.work.Wait()
	return s.link.reason()
}

// begin starts a goroutine of the session, and reports whether it did: not after the session has
// ended.
func (s *Session) begin(do func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.work.Go(do)
	}
	return !s.over
}

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// onMaster reports whether this is the master's end.
func (s *Session) onMaster() bool { return s.carry == nil }

// muxConfig disables all timeouts of yamux: the link handles them, and yamux must not notice the
// loss of a connection.
func (s *Session) muxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.AcceptBacklog = backlog
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 100 * 365 * 24 * time.Hour
	c.MaxStreamWindowSize = window
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = 0
	c.LogOutput, c.Logger = nil, muxLog{s.log}
	return c
}

// Open opens a stream, when the link has room for its first bytes. The other side learns of it with
// these bytes.
func (s *Session) Open(ctx context.Context) (Stream, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	if err := s.link.awaitRoom(ctx); err != nil {
		return nil, err
	}
	select {
	case s.opens <- struct{}{}:
	case <-s.link.done:
		return nil, s.link.reason()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	answer := make(chan openAnswer)
	if !s.begin(func() { s.open(ctx, answer) }) {
		return nil, s.link.reason()
	}
	select {
	case a := <-answer:
		if a.err != nil {
			return nil, s.blame(a.err)
		}
		m := s.stream(a.stream)
		m.opened = true
		return m, nil
	case <-s.link.done:
		return nil, s.link.reason()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type openAnswer struct {
	stream *yamux.Stream
	err    error
}

// open opens a stream for a caller that may have left before it is open: yamux waits for room in
// the link without a context.
func (s *Session) open(ctx context.Context, answer chan<- openAnswer) {
	stream, err := s.mux.OpenStream()
	<-s.opens
	select {
	case answer <- openAnswer{stream, err}:
	case <-s.link.done:
	case <-ctx.Done():
		if err == nil {
			_ = stream.Close()
		}
	}
}

// Accept waits for a stream that the other side opens.
func (s *Session) Accept(ctx context.Context) (Stream, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	stream, err := s.mux.AcceptStreamWithContext(ctx)
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, s.blame(err)
	}
	return s.stream(stream), nil
}

// wait waits until Run has begun.
func (s *Session) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-s.link.done:
		return s.link.reason()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// blame returns why the session has ended, or err if it has not.
func (s *Session) blame(err error) error {
	if reason := s.link.reason(); reason != nil {
		return reason
	}
	return err
}

// Close ends the session and tells the other side why. It does not wait.
func (s *Session) Close(cause error) {
	if cause == nil {
		cause = ErrClosed
	}
	s.link.close(cause, true)
}

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.link.done }

// Err returns why the session has ended; nil if it has not.
func (s *Session) Err() error { return s.link.reason() }

// Certificate returns the validity of the certificate that the slave has shown on its latest
// connection. Only the master may call it.
func (s *Session) Certificate() Validity { return *s.certificate.Load() }

// Reconnect gives the connection up. The slave's session goes on over another one, with the
// identity's certificate at that time.
func (s *Session) Reconnect() {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if c := s.link.cur; c != nil {
		s.link.loseLocked(c, errRenewed)
	}
}

// Lease returns how long the slave keeps its processes without a message of the master.
func (s *Session) Lease() time.Duration { return s.link.pace.lease }

// Watch makes the session call changed when the connection is lost or replaced; see Connected.
// changed must not block, nor call a method of the session.
func (s *Session) Watch(changed func()) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.link.moved = changed
}

// LastHeard returns when something was last received from the other side.
func (s *Session) LastHeard() time.Time {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return s.link.heard
}

// Connected reports whether there is a connection, since when that is so, and a channel that is
// closed when it changes. After a connection is lost, nothing that was sent over it reaches the
// other side later than a packet's time of travel.
func (s *Session) Connected() (up bool, since time.Time, changed <-chan struct{}) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return s.link.cur != nil, s.link.since, s.link.changed
}
