package processors_test

import (
	"runtime"
	"testing"

	"bproc/internal/processors"
)

func TestTakeHalf(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "3")
	processors.TakeHalf()
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("with GOMAXPROCS set: %d, want %d as before", got, before)
	}
	t.Setenv("GOMAXPROCS", "")
	processors.TakeHalf()
	if got, want := runtime.GOMAXPROCS(0), max(1, runtime.NumCPU()/2); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
