package flock

import (
	"errors"
	"os"
	"testing"
	"time"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestTake has two descriptors of a file, as two processes have.
func TestTake(t *testing.T) {
	path := t.TempDir() + "/lock"
	first, second := open(t, path), open(t, path)
	if err := Take(first); err != nil {
		t.Fatal(err)
	}
	if err := TakeWithin(second, 50*time.Millisecond); !errors.Is(err, ErrTaken) {
		t.Errorf("taken twice: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- Take(second) }()
	select {
	case err := <-waited:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	first.Close()
	if err := <-waited; err != nil {
		t.Errorf("after the release: %v", err)
	}
}
