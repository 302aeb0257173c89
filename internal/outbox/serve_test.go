package outbox

import (
	"errors"
	"sync"
	"testing"

	"bproc/wire"
)

// TestServe checks that bursts of messages are written by goroutines that end with each burst.
func TestServe(t *testing.T) {
	w := &writes{sizes: make(chan int), err: make(chan error)}
	var writing sync.WaitGroup
	var failed error
	begun := 0
	o := opened(nil)
	put(t, o, 1) // before Serve
	o.Serve(w, func(write func()) { begun++; writing.Go(write) }, func(err error) { failed = err })
	one := <-w.sizes
	for range 10 {
		put(t, o, 1)
	}
	w.err <- nil
	if got := <-w.sizes; got != 10*one {
		t.Errorf("what came during a write went out in %d bytes, want %d", got, 10*one)
	}
	if o.Idle() {
		t.Error("it is idle while it writes")
	}
	w.err <- nil
	writing.Wait()
	if begun != 1 || !o.Idle() || o.buf != nil {
		t.Errorf("%d goroutines wrote; idle: %t; %d bytes are kept", begun, o.Idle(), cap(o.buf))
	}

	put(t, o, 1)
	<-w.sizes
	broken := errors.New("broken")
	w.err <- broken
	writing.Wait()
	if begun != 2 || !errors.Is(failed, broken) {
		t.Errorf("%d goroutines wrote, the last failed with %v", begun, failed)
	}
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, broken) {
		t.Errorf("put: got %v, want %v", err, broken)
	}
	o.Close()
	if err := o.Put(0, new(wire.KillAll)); !errors.Is(err, broken) || begun != 2 {
		t.Errorf("after close: got %v, %d goroutines", err, begun)
	}
}
