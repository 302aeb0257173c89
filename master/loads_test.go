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

// TestLaunchesHaveRoom has a launch with many empty variables, which are short on the wire: it has room for what it takes in
// memory, in place of that for the request, till its command is not needed any more.
func TestLaunchesHaveRoom(t *testing.T) {
	const variables = 7000
	m := new(Master)
	c := &clientConn{m: m, settled: func() {}}
	bytes := memoryFor(&wire.Command{Env: make([]string, variables)}, make([]string, 1))
	if bytes < (variables+1)*stringHeader {
		t.Fatalf("%d variables take %d bytes", variables+1, bytes)
	}
	if err := c.admitLaunch(t.Context(), bytes); err != nil {
		t.Fatal(err)
	}
	if mine := m.loads.of[0]; mine == nil || mine.room.TryAcquire(int64(maxLoad-bytes+1)) || !mine.room.TryAcquire(int64(maxLoad-bytes)) {
		t.Errorf("the launch has not taken %d bytes", bytes)
	}
	c.settled()
	if len(m.loads.of) > 0 {
		t.Error("its room is not given back")
	}
}
