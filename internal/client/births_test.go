package client_test

import (
	"context"
	"errors"
	"testing"

	"bproc/internal/fakemaster"
	"bproc/wire"
)

func TestBirths(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if births, ok := m.(*wire.Births); ok && births.Version == wire.Version && births.After != 0 {
			c.Send(&wire.Born{Count: births.After + 1})
		}
		c.Close() // as a master does that does not know the request
	})
	if got, err := m.Client.Births(t.Context(), 41); got != 42 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := m.Client.Births(t.Context(), 0); err == nil {
		t.Errorf("got %d of a master that says nothing", got)
	}
}

// TestBirthsAreNotWaitedFor any longer when the context has ended.
func TestBirthsAreNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		cancel()
		c.Gone()
	})
	if got, err := m.Client.Births(ctx, 41); !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v", got, err)
	}
}
