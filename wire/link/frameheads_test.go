package link_test

import (
	"bytes"
	"context"
	"errors"
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

// TestUrgency has yamux open a stream, write to it and close it. Only the openings and the heads of
// bodies go with the next write, also when a body looks like a head.
func TestUrgency(t *testing.T) {
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
	var heads link.FrameHeads
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
	for i, want := range []struct {
		what    string
		urgency any
	}{
		{"the opening", link.WithNext},
		{"a head", link.WithNext},
		{"a body", link.AtOnce},
		{"a head", link.WithNext},
		{"a body like a head", link.AtOnce},
		{"a head", link.WithNext},
		{"a body like a head", link.AtOnce},
		{"the end", link.AtOnce},
	} {
		select {
		case p := <-r.writes:
			if got := heads.Urgency(p); got != want.urgency {
				t.Errorf("write %d, %s, %q: urgency %v, want %v", i, want.what, p, got, want.urgency)
			}
		case <-ctx.Done():
			t.Fatalf("there is no write %d, %s", i, want.what)
		}
	}
}

// TestLate has acceptances late, and bytes and ends of streams that are marked, but no window: a sender waits for
// that.
func TestLate(t *testing.T) {
	const data, update, none, ack, fin = 0, 1, 0, 2, 4
	head := func(kind, flags, stream byte, length byte) []byte {
		return []byte{0, kind, 0, flags, 0, 0, 0, stream, 0, 0, 0, length}
	}
	var heads link.FrameHeads
	heads.SetLate(3)
	for _, want := range []struct {
		what    string
		p       []byte
		urgency any
	}{
		{"an acceptance", head(update, ack, 1, 9), link.Late},
		{"an end", head(update, fin, 1, 0), link.AtOnce},
		{"the end of a marked stream", head(update, fin, 3, 0), link.Late},
		{"the window of a marked stream", head(update, none, 3, 9), link.AtOnce},
		{"a head of a marked stream", head(data, none, 3, 4), link.WithNext},
		{"its body", []byte("body"), link.Late},
		{"a head", head(data, none, 1, 4), link.WithNext},
		{"a body", []byte("body"), link.AtOnce},
	} {
		if got := heads.Urgency(want.p); got != want.urgency {
			t.Errorf("%s: urgency %v, want %v", want.what, got, want.urgency)
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

// TestBookkeepingIsLate: that a stream was accepted, and the end of one that the other side has ended, go
// with something else, or a little later if there is nothing.
func TestBookkeepingIsLate(t *testing.T) {
	m := newMaster(t, func(cfg *link.ListenConfig) { cfg.Lease, cfg.Interval = 10*time.Minute, time.Minute })
	slave, here := m.pair(m.addr())
	streams(t, slave, here)
	sent := func(s *link.Session, what string) {
		t.Helper()
		for deadline := time.Now().Add(limit.Scaled(10 * time.Second)); s.Unsent() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d bytes are not sent", what, s.Unsent())
			}
		}
	}
	late := map[string]int{}
	isLate := func(s *link.Session, what string) {
		t.Helper()
		if s.Unsent() > 0 {
			late[what]++
		}
		sent(s, what)
	}
	for range 10 {
		sent(here, "before")
		sent(slave, "before")
		stream, err := here.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Write([]byte("request")); err != nil {
			t.Fatal(err)
		}
		accepted, err := slave.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		isLate(slave, "an acceptance")
		if _, err := io.ReadFull(accepted, make([]byte, len("request"))); err != nil {
			t.Fatal(err)
		}
		for _, hurry := range []bool{false, true} {
			if _, err := stream.WriteLate([]byte("more")); err != nil {
				t.Fatal(err)
			}
			if hurry {
				stream.Hurry()
				sent(here, "what was hurried")
			} else {
				isLate(here, "what was written late")
			}
			if _, err := io.ReadFull(accepted, make([]byte, len("more"))); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Drop(); err != nil {
			t.Fatal(err)
		}
		isLate(here, "the end of a dropped stream")
		if n, err := accepted.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("the end of the other side: read %d, %v", n, err)
		}
		if err := accepted.Close(); err != nil {
			t.Fatal(err)
		}
		isLate(slave, "an end after the other one")
		<-stream.Gone()
	}
	for _, what := range []string{"an acceptance", "what was written late", "the end of a dropped stream", "an end after the other one"} {
		if late[what] < 5 {
			t.Errorf("%s was late %d times of 10", what, late[what])
		}
	}
}
