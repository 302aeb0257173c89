package link

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/yamux"
)

// broken is a connection whose writes fail from some time on.
type broken struct {
	net.Conn
	is atomic.Bool
}

var errBroken = errors.New("broken")

func (b *broken) Write(p []byte) (int, error) {
	if b.is.Load() {
		return 0, errBroken
	}
	return b.Conn.Write(p)
}

// TestMuxedRead reads the bytes that have arrived, although the other side cannot be told so.
func TestMuxedRead(t *testing.T) {
	const size = 200 << 10 // more than half of yamux's window, at which it sends an update
	near, far := net.Pipe()
	cfg := yamux.DefaultConfig()
	cfg.EnableKeepAlive, cfg.LogOutput = false, io.Discard
	conn := &broken{Conn: near}
	reader, err := yamux.Server(conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	writer, err := yamux.Client(far, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	out, err := writer.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	in, err := reader.AcceptStream()
	if err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := in.Read(one); err != nil { // all have arrived when the other side's ping is answered
		t.Fatal(err)
	}
	if _, err := writer.Ping(); err != nil {
		t.Fatal(err)
	}
	conn.is.Store(true)
	got := 1
	for p := make([]byte, size); got < size; {
		n, err := (&muxed{Stream: in, s: newSession(newLink("", pace{}, func() {}), nil)}).Read(p)
		if err != nil {
			t.Fatalf("after %d bytes of %d: %v", got+n, size, err)
		}
		got += n
	}
}
