package pid1

import (
	"testing"
	"testing/synctest"
)

// TestTogether starts goroutines so slowly that each gets as far as it can before the next.
func TestTogether(t *testing.T) {
	const n = 5
	synctest.Test(t, func(t *testing.T) {
		var begun, ended int
		together(n, func(hold func()) {
			begun++
			go func() {
				hold()
				ended++
			}()
			synctest.Wait()
			if want := begun / n * n; ended != want {
				t.Errorf("of %d goroutines %d have begun, and %d let go of their threads, want %d", n, begun, ended, want)
			}
		})
	})
}
