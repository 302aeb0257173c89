package supervise

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lookAfter is the interval between two checks for waiting calls whose caller has gone.
const lookAfter = time.Second

var errCallerGone = errors.New("the caller does not wait any more")

// waiting holds the calls that wait for the front end, each in a goroutine of its own.
type waiting struct {
	group sync.WaitGroup

	mu    sync.Mutex
	calls map[uint64]context.CancelCauseFunc // by the notification's ID
}

// begin starts f. The table bounds the number of calls.
func (w *waiting) begin(ctx context.Context, id uint64, f func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = make(map[uint64]context.CancelCauseFunc)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.calls[id] = cancel
	w.group.Go(func() {
		defer func() {
			cancel(nil)
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.calls, id)
		}()
		f(ctx)
	})
}

// sweep regularly cancels the calls for which valid returns false.
func (w *waiting) sweep(ctx context.Context, valid func(id uint64) bool) {
	tick := time.NewTicker(lookAfter)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		for id, cancel := range w.calls {
			if !valid(id) {
				cancel(errCallerGone)
			}
		}
		w.mu.Unlock()
	}
}
