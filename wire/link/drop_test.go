package link_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"bproc/wire/link"
)

// TestDrop has a slave go on writing to streams that the master has dropped, and close
// none. Nothing of them is left in the end, and the session is as before.
func TestDrop(t *testing.T) {
	link.ResetAfter(t, 200*time.Millisecond)
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	const count = 6
	for i := range count {
		open := streams
		if i%2 == 0 {
			open = accepted
		}
		at, from := open(t, slave, here)
		reader := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(from)
			reader <- err
		}()
		go func() {
			var err error
			for err == nil { // to the end of the stream, or of the session
				_, err = at.Write(make([]byte, 100<<10))
			}
		}()
		if err := from.Drop(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-reader:
			if err != nil {
				t.Errorf("who reads gets %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("who reads is not told")
		}
		select {
		case <-from.Gone():
		case <-time.After(20 * time.Second):
			t.Fatalf("of a stream that was dropped something is left: %d streams", here.Streams())
		}
		if err := from.Drop(); err != nil {
			t.Error(err)
		}
	}
	if n := here.Streams(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
	at, from := streams(t, slave, here)
	exchange(t, at, from, "works")
	if err := errors.Join(at.Close(), from.Drop()); err != nil {
		t.Error(err)
	}
}

// TestDropOfEnded has the session end before or while a stream is dropped.
func TestDropOfEnded(t *testing.T) {
	m := newMaster(t, nil)
	slave, here := m.pair(m.addr())
	_, first := streams(t, slave, here)
	_, second := streams(t, slave, here)
	if err := first.Drop(); err != nil {
		t.Error(err)
	}
	here.Close(nil)
	_ = ended(t, here)
	_ = second.Drop() // an error is that of the session
	for _, s := range []link.Stream{first, second} {
		select {
		case <-s.Gone():
		case <-time.After(10 * time.Second):
			t.Fatal("something is left of a stream after its session")
		}
	}
}

// accepted opens a stream from the slave and returns both ends.
func accepted(t testing.TB, slave, here *link.Session) (at, from link.Stream) {
	t.Helper()
	at, err := slave.Open(t.Context())
	if err == nil {
		from, err = here.Accept(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return at, from
}
