package supervise

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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
