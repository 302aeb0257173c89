package procevents

import (
	"testing"

	"bproc/wire"
)

// TestZombiesAreShared has a user whose processes are not waited for. The zombies of others are kept.
func TestZombiesAreShared(t *testing.T) {
	tracker := new(Tracker)
	for _, test := range []struct {
		user uint32
		want int
	}{{1000, maxZombies / 2}, {1001, maxZombies / 4}, {1000, 0}, {1002, maxZombies / 8}, {1003, maxZombies / 16}} {
		got := 0
		for {
			p := &process{traits: traits{user: wire.IDs{Real: test.user}}}
			if !tracker.hasPlace(p) {
				break
			}
			tracker.zombies = append(tracker.zombies, p)
			got++
		}
		if got != test.want {
			t.Errorf("user %d has %d more zombies, want %d", test.user, got, test.want)
		}
	}
}
