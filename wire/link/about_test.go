package link_test

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"bproc/wire"
	"bproc/wire/link"
)

func TestInquire(t *testing.T) {
	m := newMaster(t, func(c *link.ListenConfig) { c.Release = "v1.2.3" })
	token, _, err := m.authority.NewToken(link.Terms{Node: 7, Name: "blue", Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := link.Join(t.Context(), m.addr(), token, filepath.Join(t.TempDir(), "identity"), "n7")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []*link.Identity{nil, joined} {
		about, err := link.Inquire(t.Context(), m.addr(), id)
		if err != nil {
			t.Fatal(err)
		}
		if about.Version != wire.Version || about.MinVersion != wire.MinVersion || about.Release != "v1.2.3" {
			t.Errorf("got %+v", about)
		}
		// Both ends use one clock: the error is within its bound.
		if about.Ahead.Abs() > about.Within {
			t.Errorf("the clock is %v ahead of itself, within %v", about.Ahead, about.Within)
		}
	}
	other := newMaster(t, nil)
	if _, err := link.Inquire(t.Context(), other.addr(), joined); !errors.Is(err, link.ErrOtherMaster) {
		t.Errorf("another master: got %v", err)
	}
	if len(m.log.with("refused")) > 0 {
		t.Errorf("a question is logged as a refusal: %q", m.log.with("refused"))
	}
}

// TestInquireNoMaster inquires at the port of another program.
func TestInquireNoMaster(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			c.Close()
		}
	}()
	if _, err := link.Inquire(t.Context(), l.Addr().String(), nil); err == nil {
		t.Error("somebody who speaks no TLS is taken for a master")
	}
	l.Close()
	if _, err := link.Inquire(t.Context(), l.Addr().String(), nil); err == nil {
		t.Error("a port that nobody listens on is taken for a master")
	}
}
