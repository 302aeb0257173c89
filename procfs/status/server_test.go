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

// testServer serves this machine, and shows no processes.
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

// served runs a stream to its end, and returns the master's side and the stream's error.
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

// TestNobodyTakesAllLooks has a user, and users of a node, take as many places as they may. Others
// can still look.
func TestNobodyTakesAllLooks(t *testing.T) {
	node := wire.NodeID(0)
	for _, c := range []struct {
		name   string
		greedy wire.Show
	}{
		{"a user", wire.Show{UID: 1000}},
		{"many users of a node", wire.Show{UID: 1000, From: &node}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := testServer(t)
			show := func(of wire.Show) (*wire.Reader, net.Conn, <-chan error) {
				master, ended := served(t, func(s net.Conn, r *wire.Reader) error { return v.Show(s, r, &of) })
				return wire.NewReader(master), master, ended
			}
			shown := 0
			for ; shown < maxShows; shown++ {
				reader, _, ended := show(c.greedy)
				if c.greedy.From != nil {
					c.greedy.UID++
				}
				if _, _, err := reader.Read(); err != nil {
					if err := <-ended; !errors.Is(err, unix.EAGAIN) {
						t.Errorf("one more viewer: got %v", err)
					}
					break
				}
			}
			if shown != maxShows/2 {
				t.Errorf("%d of %d viewers", shown, maxShows)
			}
			held := make(chan struct{}) // as the memory of a process can be
			defer close(held)
			reads := 0
			for ; v.start(viewerOf(&c.greedy), func() { <-held }); reads++ {
				continue
			}
			if reads != maxReads/2 {
				t.Errorf("%d of %d looks", reads, maxReads)
			}
			reader, master, _ := show(wire.Show{UID: 1001})
			if _, _, err := reader.Read(); err != nil {
				t.Fatal(err)
			}
			if err := wire.Write(master, 7, new(wire.Refresh)); err != nil {
				t.Fatal(err)
			}
			if m, _, err := reader.Read(); err != nil {
				t.Errorf("another viewer: got %+v, %v", m, err)
			}
			for uid, want := range map[uint32]unix.Errno{1001: 0, 1000: unix.EAGAIN} {
				if c.greedy.From != nil {
					want = 0
				}
				master, _ := served(t, func(s net.Conn, r *wire.Reader) error {
					return v.Fetch(s, r, &wire.Fetch{Kind: wire.FetchFile, Path: "version", UID: uid})
				})
				m, _, err := wire.NewReader(master).Read()
				if piece, ok := m.(*wire.Piece); err != nil || !ok || unix.Errno(piece.Errno) != want {
					t.Errorf("a look-up of user %d: got %+v, %v, want %v", uid, m, err, want)
				}
			}
		})
	}
}
