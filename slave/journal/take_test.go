package journal

import (
	"errors"
	"os"
	"testing"
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

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
