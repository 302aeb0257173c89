package slave

import (
	"math/rand/v2"
	"time"
)

// How long the slave waits before it tries again to reach the master.
const (
	// firstRedial is for a master that was just lost: it is likely being started again.
	firstRedial = 20 * time.Millisecond
	// redial bounds that time for one that does not answer.
	redial = 500 * time.Millisecond
	// maxRedial bounds it for one that ends sessions at once, which shortSession says.
	maxRedial    = 8 * time.Second
	shortSession = time.Second
	// maxTurnedAway is for one that has said that this node is set down.
	maxTurnedAway = 2 * time.Second
)

// pause returns how long to wait after a session that lasted for some time, or, where
// connected is false, was none. last is what it has returned before.
func pause(last time.Duration, connected bool, lasted time.Duration) time.Duration {
	switch {
	case last == 0, connected && lasted >= shortSession:
		return firstRedial
	case connected:
		return min(max(2*last, redial), maxRedial)
	default:
		return max(firstRedial, min(2*last, redial))
	}
}

// jitter returns a time from half of d to d: many slaves lose their master at the same
// moment.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
