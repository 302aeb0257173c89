package master

import (
	"testing"
	"time"
)

// TestConnection checks that the core learns of each time that a link had no connection, and of its
// beginning, even if several changes are seen as one.
func TestConnection(t *testing.T) {
	begin := time.Unix(1000, 0)
	c := connection{up: true}
	for i, step := range []struct {
		up          bool
		since       time.Duration
		healed, cut bool
	}{
		{true, 0, true, false},
		{true, 0, false, false},
		{false, 1, false, true},
		{false, 1, false, false},
		{false, 3, true, true}, // it was there in between: the lease begins anew
		{true, 4, true, false},
		{true, 6, true, false}, // perhaps with another certificate
		{false, 7, false, true},
	} {
		healed, cut := c.is(step.up, begin.Add(step.since*time.Second))
		if healed != step.healed || cut != step.cut {
			t.Errorf("step %d: healed %v, cut %v, want %v, %v", i, healed, cut, step.healed, step.cut)
		}
	}
}
