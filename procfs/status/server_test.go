package status

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// testServer looks at this machine, and shows nothing.
func testServer(t *testing.T) *Server {
	t.Helper()
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	v := NewServer(Config{
		Proc: proc, Log: slog.New(slog.DiscardHandler),
		Hidden: func() func(wire.PID) bool { return func(wire.PID) bool { return true } },
	}, func() uint64 { return 17 })
	t.Cleanup(func() {
		if err := errors.Join(v.Close(), proc.Close()); err != nil {
			t.Error(err)
		}
	})
	return v
}

// served runs a stream to its end, and returns the master's side and how it ends.
func served(t *testing.T, serve func(net.Conn, *wire.Reader) error) (master net.Conn, ended <-chan error) {
	t.Helper()
	master, stream := net.Pipe()
	end := make(chan error, 1)
	go func() {
		err := serve(stream, wire.NewReader(stream))
		stream.Close()
		end <- err
	}()
	t.Cleanup(func() { master.Close() })
	return master, end
}

func TestShow(t *testing.T) {
	v := testServer(t)
	master, ended := served(t, func(s net.Conn, r *wire.Reader) error { return v.Show(s, r, new(wire.Show)) })
	reader := wire.NewReader(master)
	m, _, err := reader.Read()
	if at, ok := m.(*wire.Shown); err != nil || !ok || len(at.BootID) != 36 || at.Uptime == 0 {
		t.Fatalf("first: got %+v, %v", m, err)
	}
	for number := range uint64(3) {
		if err := wire.Write(master, number, new(wire.Refresh)); err != nil {
			t.Fatal(err)
		}
		m, n, err := reader.Read()
		if _, ok := m.(*wire.Refreshed); err != nil || n != number || !ok {
			t.Fatalf("got %d %+v, %v", n, m, err)
		}
	}
	if err := wire.Write(master, 0, new(wire.KillAll)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, wire.ErrFrame) {
		t.Errorf("got %v, want %v", err, wire.ErrFrame)
	}
}

func TestFetch(t *testing.T) {
	v := testServer(t)
	master, ended := served(t, func(s net.Conn, r *wire.Reader) error {
		return v.Fetch(s, r, &wire.Fetch{Kind: wire.FetchFile, Path: "version"})
	})
	reader := wire.NewReader(master)
	for _, want := range []string{"Linux", ""} {
		m, _, err := reader.Read()
		if err != nil {
			t.Fatal(err)
		}
		piece, ok := m.(*wire.Piece)
		if !ok || piece.Event != 17 || piece.Errno != 0 || !strings.HasPrefix(string(piece.Data), want) || piece.Last != (want == "") {
			t.Errorf("got %+v", m)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("the stream ends before the master closes it: %v", err)
	default:
	}
	master.Close()
	if err := <-ended; err == nil {
		t.Error("the stream ends without the master's end")
	}
}

// TestServerIsBounded has as many look as may.
func TestServerIsBounded(t *testing.T) {
	v := testServer(t)
	for range maxShows {
		v.shows <- struct{}{}
	}
	for range maxReads {
		v.reads <- struct{}{}
	}
	_, ended := served(t, func(s net.Conn, r *wire.Reader) error { return v.Show(s, r, new(wire.Show)) })
	if err := <-ended; !errors.Is(err, unix.EAGAIN) {
		t.Errorf("one more viewer: got %v", err)
	}
	master, ended := served(t, func(s net.Conn, r *wire.Reader) error {
		return v.Fetch(s, r, &wire.Fetch{Kind: wire.FetchFile, Path: "version"})
	})
	m, _, err := wire.NewReader(master).Read()
	if piece, ok := m.(*wire.Piece); err != nil || !ok || piece.Errno != uint32(unix.EAGAIN) || !piece.Last {
		t.Errorf("one more look-up: got %+v, %v", m, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
