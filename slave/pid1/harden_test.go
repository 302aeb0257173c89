package pid1

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestTogether starts goroutines so slowly that each gets as far as it can before the next.
func TestTogether(t *testing.T) {
	const n = 5
	synctest.Test(t, func(t *testing.T) {
		var begun int32
		var ended atomic.Int32
		together(n, func(hold func()) {
			begun++
			go func() {
				hold()
				ended.Add(1)
			}()
			synctest.Wait()
			if want, got := begun/n*n, ended.Load(); got != want {
				t.Errorf("of %d goroutines %d have begun, and %d let go of their threads, want %d", n, begun, got, want)
			}
		})
	})
}
