package master

import (
	"context"
	"errors"
	"testing"
	"time"

	"bproc/wire"
)

// TestNothingIsSaidAtTheEnd has connections end because the master does: what
// they would say then must not reach the core, which may still take inputs.
func TestNothingIsSaidAtTheEnd(t *testing.T) {
	m := &Master{inputs: make(chan func(*core), inputQueue)}
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(t.Context())
	if err := m.post(ctx, func(*core) {}); err != nil || len(m.inputs) != 1 {
		t.Fatalf("before the end: %v, %d inputs", err, len(m.inputs))
	}
	end(ended)
	for range 100 { // a choice between two that are ready would be made at random
		if err := m.post(ctx, func(*core) {}); !errors.Is(err, ended) {
			t.Fatalf("post: got %v, want %v", err, ended)
		}
		if err := m.do(ctx, func(*core) {}); !errors.Is(err, ended) {
			t.Fatalf("do: got %v, want %v", err, ended)
		}
	}
	if len(m.inputs) != 1 {
		t.Errorf("%d inputs came through", len(m.inputs)-1)
	}
}

// TestKeepUp reads on as long as the front end is not too far behind.
func TestKeepUp(t *testing.T) {
	c := &slaveConn{session: new(session)}
	for _, m := range []wire.Message{new(wire.BlocksWanted), &wire.Events{First: 1}, &wire.Events{First: maxBehind}} {
		if err := c.keepUp(t.Context(), m); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
	far := &wire.Events{First: maxBehind + 7}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	c.barrier.Move(6)
	if err := c.keepUp(ctx, far); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("too far behind: got %v, want to wait", err)
	}
	c.barrier.Move(7)
	if err := c.keepUp(t.Context(), far); err != nil {
		t.Error(err)
	}
}
