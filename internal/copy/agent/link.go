package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// link is a connection to another agent.
type link struct {
	conn  *net.TCPConn
	tls   *tls.Conn
	lines *lines
}

// connectTimeout bounds the time to set up a connection. A firewall that drops packets costs a copy
// that time once.
const connectTimeout = 3 * time.Second

// handshakes bounds the concurrent handshakes of a listener.
const handshakes = 64

// lineBuffer is the size of reads and writes.
const lineBuffer = 256 << 10

// lines carries the encrypted bytes of a connection, in larger pieces than package tls does.
type lines struct {
	*net.TCPConn
	r *bufio.Reader
	w *bufio.Writer
}

func (l *lines) Read(b []byte) (int, error)  { return l.r.Read(b) }
func (l *lines) Write(b []byte) (int, error) { return l.w.Write(b) }

// closeTimeout bounds the last write of an end that closes.
const closeTimeout = 5 * time.Second

// Close flushes first. Package tls has set a write deadline in the past, so Close sets another one.
func (l *lines) Close() error {
	err := l.SetWriteDeadline(time.Now().Add(closeTimeout))
	if flushErr := l.w.Flush(); err == nil {
		err = flushErr
	}
	if closeErr := l.TCPConn.Close(); err == nil {
		err = closeErr
	}
	return err
}

// keepAlive determines how soon the failure of a silent machine is noticed.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 10 * time.Second, Count: 3}

func newLink(conn *net.TCPConn) *link {
	_ = conn.SetKeepAliveConfig(keepAlive) // without it, the transfer notices
	return &link{conn: conn, lines: &lines{conn, bufio.NewReaderSize(conn, lineBuffer), bufio.NewWriterSize(conn, lineBuffer)}}
}

// dial connects to an agent.
func dial(ctx context.Context, config *tls.Config, self int, to Peer) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return nil, err
	}
	l := newLink(conn.(*net.TCPConn))
	if err := l.greet(ctx, config, self, to.ID); err != nil {
		l.abort()
		return nil, err
	}
	return l, nil
}

// A greeting names the sender and the receiver, and is answered by one byte. So a connection cannot
// be redirected to another agent of the copy.
const greetingSize = 8

func (l *link) greet(ctx context.Context, config *tls.Config, self, to int) error {
	defer l.until(ctx)()
	l.tls = tls.Client(flushing{l.lines}, config)
	if err := l.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	greeting := binary.LittleEndian.AppendUint32(nil, uint32(self))
	if _, err := l.tls.Write(binary.LittleEndian.AppendUint32(greeting, uint32(to))); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	_, err := io.ReadFull(l.tls, make([]byte, 1))
	return err
}

// receive accepts a connection, and returns the ID of the other agent.
func (l *link) receive(ctx context.Context, config *tls.Config, self int) (int, error) {
	defer l.until(ctx)()
	l.tls = tls.Server(flushing{l.lines}, config)
	if err := l.tls.HandshakeContext(ctx); err != nil {
		return 0, err
	}
	greeting := make([]byte, greetingSize)
	if _, err := io.ReadFull(l.tls, greeting); err != nil {
		return 0, err
	}
	if to := binary.LittleEndian.Uint32(greeting[4:]); to != uint32(self) {
		return 0, fmt.Errorf("a connection for agent %d", to)
	}
	return int(binary.LittleEndian.Uint32(greeting)), nil
}

// answer confirms the connection.
func (l *link) answer() error {
	if _, err := l.tls.Write([]byte{1}); err != nil {
		return err
	}
	return l.flush()
}

// until closes the connection when ctx is done, unless stop is called first.
func (l *link) until(ctx context.Context) (stop func()) {
	cancel := context.AfterFunc(ctx, func() { l.conn.Close() })
	return func() { cancel() }
}

// flushing flushes buffered writes before each Read that has to wait: in handshakes, and at the end
// of the stream.
type flushing struct{ *lines }

func (f flushing) Read(b []byte) (int, error) {
	if f.r.Buffered() == 0 && f.w.Buffered() > 0 {
		if err := f.w.Flush(); err != nil {
			return 0, err
		}
	}
	return f.lines.Read(b)
}

func (l *link) flush() error { return l.lines.w.Flush() }

// write sends a piece of the stream. more means that the next piece is already there.
func (l *link) write(b []byte, more bool) error {
	if _, err := l.tls.Write(b); err != nil || more {
		return err
	}
	return l.flush()
}

// finish ends the stream. The last TLS record tells the other end that it is complete.
func (l *link) finish() error {
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.tls.CloseWrite(); err != nil {
		return err
	}
	// CloseWrite has set a write deadline in the past.
	if err := errors.Join(l.conn.SetWriteDeadline(time.Time{}), l.flush()); err != nil {
		return err
	}
	// The other end closes when it has read everything.
	if _, err := l.tls.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// abort closes the connection at once: the other end sees that the stream is incomplete.
func (l *link) abort() {
	_ = l.conn.SetLinger(0) // an error makes no difference
	l.conn.Close()
}

// Read reads the stream. It returns io.EOF only at the end of a complete stream.
func (l *link) Read(b []byte) (int, error) { return l.tls.Read(b) }

// close closes a connection whose stream was read to its end.
func (l *link) close() { _ = l.tls.Close() }
