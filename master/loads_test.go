package master

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestLoads has a user take all room for requests. The user's next request waits, another user's
// does not, and a request that waits too long fails.
func TestLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l loads
		ctx := t.Context()
		take := func(uid uint32, bytes int) func() {
			t.Helper()
			release, err := l.take(ctx, int64(uid), bytes)
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		var mine []func()
		for range maxLoad / wire.MaxCommand {
			mine = append(mine, take(1, wire.MaxCommand))
		}
		take(2, wire.MaxCommand)()
		if _, err := l.take(ctx, 1, 1); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("one request more than there is room for: got %v, want EAGAIN", err)
		}
		got := make(chan error)
		go func() {
			release, err := l.take(ctx, 1, wire.MaxCommand)
			release()
			got <- err
		}()
		synctest.Wait()
		mine[0]()
		mine[0]() // a second release does nothing
		if err := <-got; err != nil {
			t.Errorf("when there is room again: got %v", err)
		}
		ended, end := context.WithCancel(ctx)
		take(1, wire.MaxCommand)
		end()
		if _, err := l.take(ended, 1, wire.MaxCommand); !errors.Is(err, context.Canceled) {
			t.Errorf("at the end of the master: got %v", err)
		}
		if len(l.of) != 1 {
			t.Errorf("%d users are known, want 1", len(l.of))
		}
	})
}
