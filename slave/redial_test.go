package slave

import (
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		last      time.Duration
		connected bool
		lasted    time.Duration
		want      time.Duration
	}{
		{0, false, 0, 20 * ms},
		{20 * ms, false, 0, 40 * ms},
		{320 * ms, false, 0, 500 * ms},
		{8 * time.Second, false, 0, 500 * ms},
		{500 * ms, true, time.Hour, 20 * ms},
		{20 * ms, true, 100 * ms, 500 * ms},
		{500 * ms, true, 100 * ms, time.Second},
		{8 * time.Second, true, 100 * ms, 8 * time.Second},
	} {
		if got := pause(c.last, c.connected, c.lasted); got != c.want {
			t.Errorf("after %v, connected %v for %v: %v, want %v", c.last, c.connected, c.lasted, got, c.want)
		}
		if got := jitter(c.want); got < c.want/2 || got > c.want {
			t.Errorf("jitter of %v is %v", c.want, got)
		}
	}
}
