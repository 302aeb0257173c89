package pid1

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"bproc/internal/ownthread"
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

// TestNameOfTheProcess names the process on a thread that is not the first.
func TestNameOfTheProcess(t *testing.T) {
	const comm = "/proc/self/comm"
	former, err := os.ReadFile(comm)
	if err != nil {
		t.Fatal(err)
	}
	var named, restored error
	var got []byte
	err = ownthread.Do(func() error { // never on the first thread
		named = nameProcess(name)
		got, err = os.ReadFile(comm)
		restored = os.WriteFile(comm, former, 0)
		return err
	})
	if err := errors.Join(err, named, restored); err != nil {
		t.Fatal(err)
	}
	if string(got) != name+"\n" {
		t.Errorf("the process is called %q, want %q", got, name)
	}
}
