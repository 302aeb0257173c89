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

// TestLaunchesHaveRoom has launches with many empty variables, which are short on the wire: they have room for what they take
// in memory, in place of that for the request, each till its command is not needed any more.
func TestLaunchesHaveRoom(t *testing.T) {
	const variables = 7000
	m := new(Master)
	settled := false
	c := &clientConn{m: m, settled: func() { settled = true }}
	bytes := memoryFor(&wire.Command{Env: make([]string, variables)}, make([]string, 1))
	if bytes < (variables+1)*stringHeader {
		t.Fatalf("%d variables take %d bytes", variables+1, bytes)
	}
	releases, err := c.admitLaunch(t.Context(), bytes, leastLaunch)
	if err != nil {
		t.Fatal(err)
	}
	if !settled {
		t.Error("the room for the request is kept")
	}
	for i, taken := range []int{bytes + leastLaunch, leastLaunch, 0} {
		if i > 0 {
			releases[i-1]()
		}
		if !hasTaken(&m.loads, 0, taken) {
			t.Errorf("after %d of two launches, not %d bytes are taken", i, taken)
		}
	}
}

// hasTaken reports whether so many bytes of a user's room are taken; if none are, nothing is known of the user.
func hasTaken(l *loads, who int64, bytes int) bool {
	mine := l.of[who]
	if bytes == 0 || mine == nil {
		return bytes == 0 && mine == nil
	}
	free := int64(maxLoad - bytes)
	if mine.room.TryAcquire(free + 1) {
		mine.room.Release(free + 1)
		return false
	}
	if !mine.room.TryAcquire(free) {
		return false
	}
	mine.room.Release(free)
	return true
}

// TestLaunchesBeyondAllRoom has launches that take more than there is: they wait till all is free.
func TestLaunchesBeyondAllRoom(t *testing.T) {
	var l loads
	releases, err := l.takeAll(t.Context(), 1, []int{maxLoad - 1, 2, maxLoad})
	if err != nil {
		t.Fatal(err)
	}
	if mine := l.of[1]; mine.room.TryAcquire(1) {
		t.Error("there is room left")
	}
	for _, release := range releases {
		release()
		release()
	}
	if len(l.of) > 0 {
		t.Error("room is not given back")
	}
}
