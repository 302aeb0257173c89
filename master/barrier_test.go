package master

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestBarrierHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		passed := make(chan uint64, 3)
		for _, n := range []uint64{2, 3, 5} {
			go func() {
				if err := b.Wait(t.Context(), n); err != nil {
					t.Errorf("wait for %d: %v", n, err)
				}
				passed <- n
			}()
		}
		for _, step := range []struct{ to, passes uint64 }{{1, 0}, {2, 2}, {1, 0}, {4, 3}, {5, 5}} {
			b.Move(step.to)
			synctest.Wait()
			var got uint64
			select {
			case got = <-passed:
			default:
			}
			if got != step.passes {
				t.Errorf("at %d passed %d, want %d", step.to, got, step.passes)
			}
		}
		if !b.Passed(5) || b.Passed(6) {
			t.Errorf("passed 5: %v, want true; passed 6: %v, want false", b.Passed(5), b.Passed(6))
		}
	})
}

func TestBarrierBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b barrier
		passed := make(chan error, 1)
		go func() { passed <- b.Wait(t.Context(), 7) }()
		synctest.Wait()
		b.Break()
		if err := <-passed; !errors.Is(err, errBroken) {
			t.Errorf("got %v, want %v", err, errBroken)
		}
		if err := b.Wait(t.Context(), 8); !errors.Is(err, errBroken) {
			t.Errorf("after it broke: got %v, want %v", err, errBroken)
		}
		if b.Passed(7) {
			t.Error("a broken barrier claims that an event has taken effect")
		}
	})
}

func TestBarrierEndsWithContext(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var b barrier
	if err := b.Wait(ctx, 1); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if err := b.Wait(ctx, 0); err != nil {
		t.Errorf("what has passed does not wait: %v", err)
	}
}

// TestBarrierLosesNoWakeUp moves the barrier while goroutines begin to wait for it.
func TestBarrierLosesNoWakeUp(t *testing.T) {
	const events, waiters = 2000, 4
	var b barrier
	var group sync.WaitGroup
	for range waiters {
		group.Go(func() {
			for n := range uint64(events) {
				if err := b.Wait(t.Context(), n+1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range uint64(events) {
		b.Move(n + 1)
	}
	group.Wait()
}
