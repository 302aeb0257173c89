package slave

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bproc/internal/crowd"
)

// TestSocketLate: a socket that cannot be made is made as soon as it can be; the node lives on meanwhile.
func TestSocketLate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	l := &lookout{log: slog.New(slog.DiscardHandler), socket: filepath.Join(dir, "sock"), silent: crowd.New[uint32](1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx) }()
	select {
	case err := <-ended:
		t.Fatalf("it has ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", l.socket)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSilentVisitors has a user connect again and again without sending anything. When there are
// too many connections, the oldest one is closed.
func TestSilentVisitors(t *testing.T) {
	const most = 3
	l := &lookout{log: slog.New(slog.DiscardHandler), socket: filepath.Join(t.TempDir(), "sock"), silent: crowd.New[uint32](most)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var conns []net.Conn
	for deadline := time.Now().Add(time.Minute); len(conns) <= most; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", l.socket)
		switch {
		case err == nil:
			defer conn.Close()
			conns = append(conns, conn)
		case time.Now().After(deadline):
			t.Fatal(err)
		}
	}
	if err := conns[0].SetReadDeadline(time.Now().Add(firstTime * 9 / 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := conns[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the oldest of %d connections: got %v, want that it is closed", len(conns), err)
	}
}
