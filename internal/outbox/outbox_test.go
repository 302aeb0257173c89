package outbox

import (
	"errors"
	"io"
	"net"
	"testing"

	"bproc/wire"
)

// run runs an outbox until the test ends, and returns the result of Run.
func run(t *testing.T, o *Outbox, w io.Writer) <-chan error {
	ended := make(chan error, 1)
	done, over := make(chan struct{}), make(chan struct{})
	go func() { ended <- o.Run(done, w, nil); close(over) }()
	t.Cleanup(func() { o.Close(); close(done); <-over })
	return ended
}

// opened returns an open outbox.
func opened(full func()) *Outbox {
	o := New(full)
	o.Open()
	return o
}

// put puts a small message, which must be accepted.
func put(t *testing.T, o *Outbox, n uint64) {
	t.Helper()
	if err := o.Put(n, &wire.GhostCont{PID: wire.PID(n)}); err != nil {
		t.Fatal(err)
	}
}

// TestConnections has two connections in turn. Messages before, between and after them must be
// dropped, and messages during them must arrive in order.
func TestConnections(t *testing.T) {
	o := New(nil)
	refused := func() {
		t.Helper()
		if err := o.Put(1000, new(wire.KillAll)); !errors.Is(err, ErrClosed) || !o.Idle() {
			t.Errorf("put without a connection: got %v, want %v", err, ErrClosed)
		}
	}
	refused()
	for range 2 {
		near, far := net.Pipe()
		o.Open()
		const count = 500
		for n := range uint64(count) {
			put(t, o, n)
		}
		done, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- o.Run(done, near, nil) }()
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
		close(done)
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		put(t, o, 1000)
		o.Close()
		o.Close()
		refused()
		near.Close()
		far.Close()
	}
}

// writes takes each write when it is told to.
type writes struct {
	sizes chan int
	err   chan error
}

func (w *writes) Write(b []byte) (int, error) {
	w.sizes <- len(b)
	return len(b), <-w.err
}

func TestBatches(t *testing.T) {
	w := &writes{sizes: make(chan int), err: make(chan error)}
	o := opened(nil)
	ended := run(t, o, w)
	put(t, o, 1)
	one := <-w.sizes
	if o.Idle() {
		t.Error("it is idle while it writes")
	}
	for range 10 {
		put(t, o, 1)
	}
	w.err <- nil
	if got := <-w.sizes; got != 10*one {
		t.Errorf("what came during a write went out in %d bytes, want %d", got, 10*one)
	}
	put(t, o, 1)
	broken := errors.New("broken")
	w.err <- broken
	if err := <-ended; !errors.Is(err, broken) {
		t.Errorf("Run ended with %v, want %v", err, broken)
	}
	if !o.Idle() {
		t.Error("it is not idle when nothing can be written any more")
	}
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, broken) {
		t.Errorf("put: got %v, want %v", err, broken)
	}
}

func TestBound(t *testing.T) {
	ended := 0
	o := opened(func() { ended++ }) // without Run
	o.buf = make([]byte, Bound)
	for _, want := range []error{nil, ErrFull, ErrFull} {
		if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, want) {
			t.Errorf("with %d bytes waiting: got %v, want %v", len(o.buf), err, want)
		}
	}
	if ended != 1 || !o.Idle() {
		t.Errorf("the connection was ended %d times, idle: %t, want once and idle", ended, o.Idle())
	}
	o.Close()
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, ErrFull) {
		t.Errorf("after close: got %v, want %v", err, ErrFull)
	}
	o.Open()
	put(t, o, 1)
}

func TestOneMessageIsRefused(t *testing.T) {
	o := opened(nil)
	long := &wire.GhostExec{Argv: []string{string(make([]byte, wire.MaxCommand))}}
	if err := o.Put(0, long); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("too long: got %v, want %v", err, wire.ErrFrame)
	}
	if !o.Idle() {
		t.Errorf("%d bytes of a message that was refused are kept", len(o.buf))
	}
	put(t, o, 1)
}
