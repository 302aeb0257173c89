package ownthread_test

import (
	"errors"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// TestNeverOnTheMainThread runs so many functions at once that the runtime has used all its
// threads, including the main thread.
func TestNeverOnTheMainThread(t *testing.T) {
	const many = 64
	var began, over sync.WaitGroup
	var mu sync.Mutex
	seen := make(map[int]bool)
	began.Add(many)
	for range many {
		over.Go(func() {
			err := ownthread.Do(func() error {
				mu.Lock()
				seen[unix.Gettid()] = true
				mu.Unlock()
				began.Done()
				began.Wait()
				return unix.ENOENT
			})
			if !errors.Is(err, unix.ENOENT) {
				t.Errorf("got %v, want what the function returns", err)
			}
		})
	}
	over.Wait()
	if len(seen) != many || seen[unix.Getpid()] {
		t.Errorf("%d functions at once ran on %d threads; on the main one: %v", many, len(seen), seen[unix.Getpid()])
	}
}
