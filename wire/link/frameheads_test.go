package link_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"bproc/test/limit"
	"bproc/wire/link"
)

// recorder is a connection of yamux whose writes are recorded.
type recorder struct {
	net.Conn
	writes chan []byte
}

func (r recorder) Write(p []byte) (int, error) {
	r.writes <- bytes.Clone(p)
	return r.Conn.Write(p)
}

// TestHoldBack has yamux open a stream, write to it and close it. Only the openings and the heads of
// bodies are held back, also when a body looks like a head.
func TestHoldBack(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	r := recorder{near, make(chan []byte, 100)}
	config := yamux.DefaultConfig()
	config.EnableKeepAlive, config.LogOutput = false, io.Discard
	client, err := yamux.Client(r, config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	stream, err := client.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	head := []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 100}
	for _, body := range [][]byte{[]byte("a request"), head, head} {
		if _, err := stream.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var heads link.FrameHeads
	for i, want := range []struct {
		what string
		held bool
	}{
		{"the opening", true},
		{"a head", true},
		{"a body", false},
		{"a head", true},
		{"a body like a head", false},
		{"a head", true},
		{"a body like a head", false},
		{"the end", false},
	} {
		select {
		case p := <-r.writes:
			if held := heads.HoldBack(p); held != want.held {
				t.Errorf("write %d, %s, %q: it is held back: %v, want %v", i, want.what, p, held, want.held)
			}
		case <-ctx.Done():
			t.Fatalf("there is no write %d, %s", i, want.what)
		}
	}
}

// TestOpeningWaits opens streams on a link that has nothing else to say: the opening goes with the first
// bytes that are written to the stream. (Rarely the writer of the link is still at work and takes it.)
func TestOpeningWaits(t *testing.T) {
	m := newMaster(t, func(cfg *link.ListenConfig) { cfg.Lease, cfg.Interval = 10*time.Minute, time.Minute })
	slave, here := m.pair(m.addr())
	streams(t, slave, here)
	for name, s := range map[string]*link.Session{"slave": slave, "master": here} {
		waited := 0
		for range 10 {
			stream, err := s.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Unsent() > 0 {
				waited++
			}
			if _, err := stream.Write([]byte("request")); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(limit.Scaled(10 * time.Second)); s.Unsent() > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: %d bytes are not sent after the request", name, s.Unsent())
				}
			}
		}
		if waited < 5 {
			t.Errorf("%s: %d of 10 openings waited", name, waited)
		}
	}
}
