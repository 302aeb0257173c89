package journal

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

// TestTakeFails: a slot whose movers cannot be kept leaves no descriptors, and is used again.
func TestTakeFails(t *testing.T) {
	full := errors.New("no room")
	fails := false
	j, err := Create(&Keep{Open: func(string, ...int) error {
		if fails {
			return full
		}
		return nil
	}, Close: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	before := openFiles(t)
	fails = true
	for range 3 {
		if _, err := j.Take(); !errors.Is(err, full) {
			t.Fatalf("got %v, want %v", err, full)
		}
	}
	if got := openFiles(t); got != before {
		t.Errorf("%d descriptors are open, want %d", got, before)
	}
	fails = false
	if s, err := j.Take(); err != nil || s.Number() != 0 {
		t.Errorf("got %v, %v, want slot 0", s, err)
	}
}

// TestReleaseDuringTake: a slot can be released while another waits until its movers are kept.
func TestReleaseDuringTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{}, 2)
		room <- struct{}{} // for the memory
		room <- struct{}{} // for the first slot
		j, err := Create(&Keep{Open: func(string, ...int) error { <-room; return nil }, Close: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		s, err := j.Take()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := j.Take(); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if j.mu.TryLock() {
			j.mu.Unlock()
			s.Release()
		} else { // Release would wait for the lock, which synctest does not take for waiting
			t.Error("a Take that waits holds the lock")
		}
		room <- struct{}{}
		synctest.Wait()
	})
}

// TestFull: the user who starts one process too many gets EAGAIN, not the error of a broken disk.
func TestFull(t *testing.T) {
	j := new(Journal)
	if _, err := j.addLocked(maxChunks * chunkSlots); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("got %v, want %v", err, unix.EAGAIN)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
