package ghost

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"bproc/internal/outbox"
	"bproc/internal/quietsock"
	"bproc/wire"
)

// frames counts messages by type.
func frames(t *testing.T, buf []byte) map[wire.Type]int {
	t.Helper()
	count := map[wire.Type]int{}
	for len(buf) > 0 {
		h, err := wire.ParseHeader(buf)
		if err != nil {
			t.Fatal(err)
		}
		count[h.Type]++
		buf = buf[wire.HeaderSize+int(h.Length):]
	}
	return count
}

// connection returns both ends of a connection with a master.
func connection(t *testing.T) (keeper *quietsock.Conn, master *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	master, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	accepted, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	if keeper, err = quietsock.New(accepted); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keeper.Close() })
	return keeper, master
}

// TestBehind has a master read nothing until it is given up. The next connection begins with the
// kept signals and ends of ghosts.
func TestBehind(t *testing.T) {
	r := newReports(slog.New(slog.DiscardHandler))
	r.done(0, 1, 0) // there is no master
	r.gone(&wire.GhostGone{PID: 9})
	r.signal(7, signalInfo(15, 0), false)
	conn, _ := connection(t)
	first := r.attach(conn)
	r.done(first, 2, 0)
	for n := 0; r.out.IsOpen() && n < 1<<20; n++ {
		r.signal(7, signalInfo(50, 0), false)
	}
	r.gone(&wire.GhostGone{PID: 10})
	if err := r.write(nil, conn); !errors.Is(err, outbox.ErrFull) {
		t.Errorf("a master that takes nothing: %v", err)
	}
	if n := len(r.ends); n != 2 {
		t.Errorf("%d ends of ghosts are kept, want 2", n)
	}
	next, master := connection(t)
	r.attach(next)
	r.done(first, 3, 0) // the former master has asked for it
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- r.write(done, next) }()
	var got []byte
	for seen := 0; seen < 2; seen = frames(t, got)[wire.TypeGhostGone] {
		m, number, err := wire.NewReader(master).Read()
		if err != nil {
			t.Fatal(err)
		}
		if got, err = wire.Append(got, number, m); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	if err := <-ended; err != nil || len(r.ends) != 0 {
		t.Errorf("the next connection: %v, %d ends left", err, len(r.ends))
	}
	if count := frames(t, got); count[wire.TypeGhostSignal] != maxKept || count[wire.TypeGhostGone] != 2 || len(count) != 2 {
		t.Errorf("at the next connection %v", count)
	}
}
