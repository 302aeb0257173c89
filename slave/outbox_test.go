package slave

import (
	"errors"
	"io"
	"net"
	"testing"

	"bproc/wire"
)

// deliver runs an outbox on a pipe and returns a reader of the other end.
func deliver(t *testing.T, o *outbox) *wire.Reader {
	near, far := net.Pipe()
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- o.run(done, near) }()
	t.Cleanup(func() {
		close(done)
		far.Close()
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("run: %v", err)
		}
	})
	return wire.NewReader(far)
}

func wanted(t *testing.T, o *outbox, blocks uint32) {
	t.Helper()
	if err := o.put(&wire.LeaseWanted{Blocks: blocks}); err != nil {
		t.Fatal(err)
	}
}

// TestOutboxBeginsAnew has two sessions, with messages before, between and
// after them, which are dropped.
func TestOutboxBeginsAnew(t *testing.T) {
	o := newOutbox(nil)
	wanted(t, o, 1)
	for session := range uint32(2) {
		t.Run("", func(t *testing.T) {
			if err := o.start(&wire.Inventory{CPUs: session}); err != nil {
				t.Fatal(err)
			}
			const count = 200
			for n := range uint32(count) {
				wanted(t, o, n)
			}
			reader := deliver(t, o)
			first, _, err := reader.Read()
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := first.(*wire.Inventory); !ok || got.CPUs != session {
				t.Errorf("first came %+v, want inventory %d", first, session)
			}
			for n := range uint32(count) {
				m, _, err := reader.Read()
				if err != nil {
					t.Fatal(err)
				}
				if got := m.(*wire.LeaseWanted).Blocks; got != n {
					t.Errorf("got message %d, want %d", got, n)
				}
			}
		})
		wanted(t, o, 1000)
		o.stop()
		wanted(t, o, 1001)
		if len(o.buf) != 0 {
			t.Errorf("%d bytes are kept without a stream", len(o.buf))
		}
	}
}

func TestOutboxEndsWithItsStream(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	o := newOutbox(nil)
	if err := o.start(new(wire.Inventory)); err != nil {
		t.Fatal(err)
	}
	if err := o.run(nil, near); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestOutboxRefusesOneMessage(t *testing.T) {
	o := newOutbox(nil)
	if err := o.start(&wire.Inventory{Kernel: string(make([]byte, wire.MaxMessage))}); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("too long: got %v, want %v", err, wire.ErrFrame)
	}
	if len(o.buf) != 0 {
		t.Errorf("%d bytes of a message that was refused are kept", len(o.buf))
	}
	wanted(t, o, 1)
}

// TestOutboxIsBounded ends a session, and the next one begins anew.
func TestOutboxIsBounded(t *testing.T) {
	ended := 0
	o := newOutbox(func() { ended++ }) // nobody runs it
	if err := o.start(new(wire.Inventory)); err != nil {
		t.Fatal(err)
	}
	o.buf = make([]byte, maxOutbox)
	wanted(t, o, 1)
	if ended != 0 {
		t.Error("the session was ended too early")
	}
	wanted(t, o, 2)
	wanted(t, o, 3)
	if ended != 1 || len(o.buf) != 0 {
		t.Errorf("the session was ended %d times with %d bytes left, want once and none", ended, len(o.buf))
	}
	if err := o.start(new(wire.Inventory)); err != nil || len(o.buf) == 0 {
		t.Errorf("the next session: %v, %d bytes", err, len(o.buf))
	}
}
