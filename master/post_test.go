package master

import (
	"context"
	"errors"
	"testing"
	"time"

	"bproc/master/core"
	"bproc/wire"
)

// TestNothingIsSaidAtTheEnd has connections end because the master ends: what they report then must
// not reach the core, which may still take inputs.
func TestNothingIsSaidAtTheEnd(t *testing.T) {
	m := newMade(t, 3)
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(t.Context())
	connect := core.NodeUp{Session: 1 << 20, Peer: core.Peer{Key: "key 3"}}
	if err := m.state.step(ctx, connect); err != nil {
		t.Fatalf("before the end: %v", err)
	}
	end(ended)
	if err := m.state.step(ctx, core.NodeLost{Session: connect.Session, Cause: ended}); !errors.Is(err, ended) {
		t.Errorf("after the end: got %v, want %v", err, ended)
	}
	if s, errno := m.state.core.SessionFor(3, 0); s != connect.Session {
		t.Errorf("the session has ended: %v", errno)
	}
}

// TestKeepUp reads on as long as the front end is not too far behind.
func TestKeepUp(t *testing.T) {
	c := new(slaveConn)
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
