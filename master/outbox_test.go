package master

import (
	"errors"
	"io"
	"net"
	"testing"

	"bproc/wire"
)

// runOutbox runs an outbox until the test ends, and returns what Run does.
func runOutbox(t *testing.T, o *outbox) <-chan error {
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() { ended <- o.Run(); close(done) }()
	t.Cleanup(func() { o.Close(); <-done })
	return ended
}

func TestOutboxKeepsOrder(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	o := newOutbox(near, func() {})
	ended := runOutbox(t, o)
	const count = 500
	for n := range uint64(count) {
		if err := o.Put(n, &wire.GhostCont{PID: wire.PID(n)}); err != nil {
			t.Fatal(err)
		}
	}
	reader := wire.NewReader(far)
	for n := range uint64(count) {
		m, number, err := reader.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.(*wire.GhostCont).PID; number != n || got != wire.PID(n) {
			t.Errorf("got number %d of %d, want %d", number, got, n)
		}
	}
	o.Close()
	o.Close()
	if err := <-ended; err != nil {
		t.Errorf("Run ended with %v", err)
	}
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("put after close: got %v, want %v", err, io.ErrClosedPipe)
	}
}

// writes takes every write when it is told to.
type writes struct {
	sizes chan int
	err   chan error
}

func (w *writes) Write(b []byte) (int, error) {
	w.sizes <- len(b)
	return len(b), <-w.err
}

func TestOutboxBatches(t *testing.T) {
	w := &writes{sizes: make(chan int), err: make(chan error)}
	o := newOutbox(w, func() {})
	ended := runOutbox(t, o)
	put := func() {
		if err := o.Put(0, new(wire.KillAll)); err != nil {
			t.Fatal(err)
		}
	}
	put()
	one := <-w.sizes
	for range 10 {
		put()
	}
	w.err <- nil
	if got := <-w.sizes; got != 10*one {
		t.Errorf("what came during a write went out in %d bytes, want %d", got, 10*one)
	}
	broken := errors.New("broken")
	w.err <- broken
	if err := <-ended; !errors.Is(err, broken) {
		t.Errorf("Run ended with %v, want %v", err, broken)
	}
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, broken) {
		t.Errorf("put: got %v, want %v", err, broken)
	}
}

func TestOutboxIsBounded(t *testing.T) {
	ended := 0
	o := newOutbox(io.Discard, func() { ended++ }) // nobody runs it
	o.buf = make([]byte, maxOutbox)
	for _, want := range []error{nil, errOutboxFull, errOutboxFull} {
		if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, want) {
			t.Errorf("with %d bytes waiting: got %v, want %v", len(o.buf), err, want)
		}
	}
	if ended != 1 {
		t.Errorf("the connection was ended %d times, want once", ended)
	}
	o.Close()
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, errOutboxFull) {
		t.Errorf("after close: got %v, want %v", err, errOutboxFull)
	}
}

func TestOutboxRefusesOneMessage(t *testing.T) {
	o := newOutbox(io.Discard, func() {})
	long := &wire.GhostExec{Argv: []string{string(make([]byte, wire.MaxCommand))}}
	if err := o.Put(0, long); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("too long: got %v, want %v", err, wire.ErrFrame)
	}
	if len(o.buf) != 0 {
		t.Errorf("%d bytes of a message that was refused are kept", len(o.buf))
	}
	if err := o.Put(0, new(wire.KillAll)); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
