package pid1

import (
	"testing"
	"time"

	"bproc/wire"
)

func TestFenceIsLookedAtInTime(t *testing.T) {
	f := fence{first: 10000, end: 14000}
	for _, c := range []struct {
		last  wire.PID
		back  bool
		again time.Duration
	}{
		{9999, false, 3001 * timeOfNumber}, // put there
		{10000, false, 3000 * timeOfNumber},
		{12990, false, fenceLook},
		{13000, true, fenceLook},
		{15000, true, fenceLook},
		{9998, true, fenceLook},
	} {
		if back, again := f.low(c.last); back != c.back || again != c.again {
			t.Errorf("last %d: got %v, %v, want %v, %v", c.last, back, again, c.back, c.again)
		}
	}
	wide := fence{first: 10000, end: 1000000}
	if _, again := wide.low(10000); again != fenceRest {
		t.Errorf("got %v, want %v", again, fenceRest)
	}
}
