package supervise

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var w waiting
		var ended atomic.Int32
		for id := range uint64(maxWaiting) {
			if !w.begin(ctx, id, func(ctx context.Context) { <-ctx.Done(); ended.Add(1) }) {
				t.Fatalf("call %d: too many", id)
			}
		}
		if w.begin(ctx, maxWaiting, func(context.Context) {}) {
			t.Error("there is no bound")
		}
		end()
		w.group.Wait()
		if ended.Load() != maxWaiting || len(w.calls) != 0 {
			t.Errorf("%d have ended, %d are left", ended.Load(), len(w.calls))
		}
		if !w.begin(t.Context(), 1, func(context.Context) {}) {
			t.Error("no room after all have ended")
		}
		w.group.Wait()
	})
}

func TestCallersThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var w waiting
		var gone atomic.Uint64
		causes := make(map[uint64]error)
		for id := range uint64(3) {
			w.begin(ctx, id, func(ctx context.Context) {
				<-ctx.Done()
				w.mu.Lock()
				defer w.mu.Unlock()
				causes[id] = context.Cause(ctx)
			})
		}
		swept := make(chan struct{})
		go func() { defer close(swept); w.sweep(ctx, func(id uint64) bool { return id != gone.Load() }) }()
		gone.Store(2)
		time.Sleep(2 * lookAfter)
		synctest.Wait()
		if len(causes) != 1 || !errors.Is(causes[2], errCallerGone) {
			t.Errorf("ended: %v, want the one whose caller has gone", causes)
		}
		end()
		w.group.Wait()
		<-swept
	})
}
