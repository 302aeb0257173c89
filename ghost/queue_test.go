package ghost

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func fullQueue(t *testing.T) *queue {
	t.Helper()
	q := newQueue()
	for range maxRequests {
		if err := q.put(request{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.put(request{}); !errors.Is(err, unix.EAGAIN) {
		t.Fatalf("got %v, want %v", err, unix.EAGAIN)
	}
	return q
}

// TestQueueFull has a request wait because the queue is full.
func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fullQueue(t)
		put := make(chan error, 1)
		go func() { put <- q.putWaiting(request{number: 17}) }()
		time.Sleep(maxFull / 2)
		select {
		case err := <-put:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		if got := len(q.take()); got != maxRequests {
			t.Errorf("%d requests, want %d", got, maxRequests)
		}
		if err := <-put; err != nil {
			t.Error(err)
		}
		if got := q.take(); len(got) != 1 || got[0].number != 17 {
			t.Errorf("got %v", got)
		}
	})
}

// TestQueueHangs has a shard take nothing: only the first request waits for that.
func TestQueueHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fullQueue(t)
		for _, want := range []time.Duration{maxFull, 0} {
			begun := time.Now()
			if err := q.putWaiting(request{}); !errors.Is(err, unix.EAGAIN) {
				t.Errorf("got %v, want %v", err, unix.EAGAIN)
			}
			if got := time.Since(begun); got != want {
				t.Errorf("waited for %v, want %v", got, want)
			}
		}
		q.take()
		if err := q.putWaiting(request{}); err != nil {
			t.Error(err)
		}
	})
}

// TestQueueEnds ends a shard while its queue is full.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fullQueue(t)
		put := make(chan error, 1)
		go func() { put <- q.putWaiting(request{}) }()
		synctest.Wait()
		begun := time.Now()
		q.end()
		if err := <-put; !errors.Is(err, unix.EAGAIN) {
			t.Errorf("got %v, want %v", err, unix.EAGAIN)
		}
		if got := time.Since(begun); got != 0 {
			t.Errorf("waited for %v", got)
		}
	})
}

// TestSettleWaits has a master connect while the queue of a shard is full: it is served when all
// requests in the queue are done.
func TestSettleWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shard{queue: fullQueue(t)}
		k := &Keeper{shards: []*shard{s}}
		settled := make(chan error, 1)
		go func() { settled <- k.settle(t.Context()) }()
		synctest.Wait()
		if got := len(s.queue.take()); got != maxRequests {
			t.Errorf("%d requests, want %d", got, maxRequests)
		}
		synctest.Wait()
		select {
		case err := <-settled:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		for _, r := range s.queue.take() {
			r.done(nil)
		}
		if err := <-settled; err != nil {
			t.Error(err)
		}
	})
}
