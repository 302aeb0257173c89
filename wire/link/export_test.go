package link

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"bproc/wire"
)

// LimitKey makes each connection of the session end after a number of bytes. The session must not
// run yet.
func (s *Session) LimitKey(bytes uint64) { s.link.keyLimit = bytes }

// Link returns the name of the session's link.
func (s *Session) Link() string { return s.link.name }

// Full reports whether the session accepts no more bytes until some are acknowledged.
func (s *Session) Full() bool {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return s.link.out.end-s.link.acked > sendBuffer
}

// Unsent returns the number of bytes that were written and not sent on the connection.
func (s *Session) Unsent() int {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return int(s.link.out.end - s.link.cur.sent)
}

// SendBuffer is how much a session accepts while it is cut.
const SendBuffer = sendBuffer

// ServerConfig returns the master's TLS configuration.
func (a *Authority) ServerConfig() *tls.Config { return a.serverConfig() }

// ClientConfig returns a slave's TLS configuration.
func (id *Identity) ClientConfig() *tls.Config {
	c := id.clientConfig()
	c.Certificates, c.GetClientCertificate = []tls.Certificate{*id.cert.Load()}, nil
	return c
}

// Say makes one connection as a slave, sends hello and returns the answer.
func (id *Identity) Say(ctx context.Context, addr string, hello *wire.Hello) (*wire.Welcome, *tls.Conn, error) {
	var w *wire.Welcome
	o, err := ask(ctx, addr, id.clientConfig(), openingTime, hello, &w)
	return w, o.Conn, err
}

// AskToJoin makes one request to join the master of a token, with another secret, and returns the
// error.
func AskToJoin(ctx context.Context, addr, text string, secret, csr []byte) error {
	t, err := parseToken(text)
	if err != nil {
		return err
	}
	var answer *wire.JoinReply
	o, err := ask(ctx, addr, joinConfig(t.authority), openingTime, &wire.JoinRequest{Version: wire.Version, Secret: secret, CSR: csr}, &answer)
	if err == nil {
		err = o.Close()
	}
	return err
}

// FrameHeads is frameHeads.
type FrameHeads struct{ frameHeads }

// Urgencies of writes.
const (
	AtOnce   = atOnce
	WithNext = withNext
	Late     = late
)

// SetLate makes the next write to a stream, or its end, late.
func (h *FrameHeads) SetLate(stream uint32) { h.late = map[uint32]bool{stream: true} }

// Urgency is urgencyOf.
func (h *FrameHeads) Urgency(p []byte) urgency { return h.urgencyOf(p) }

// OpenTime sets for a test how long a slave may leave a dropped stream open.
func OpenTime(t *testing.T, d time.Duration) {
	before := openTime
	openTime = d
	t.Cleanup(func() { openTime = before })
}

// MaxOverdue is the number of streams that a slave may leave open for longer.
const MaxOverdue = maxOverdue

// Streams returns the number of streams of the session.
func (s *Session) Streams() int { return s.mux.NumStreams() }

// Kept returns the number of buffers with bytes that the other side has not acknowledged.
func (s *Session) Kept() int {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return len(s.link.out.chunks)
}

// Ping sends a ping of yamux, and does not wait for the answer.
func (s *Session) Ping() { go func() { _, _ = s.mux.Ping() }() }
