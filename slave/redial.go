package slave

import (
	"math/rand/v2"
	"time"
)

// Pauses before the slave tries again to reach the master.
const (
	// firstRedial is for a master that was just lost: it is probably being started again.
	firstRedial = 20 * time.Millisecond
	// redial bounds the pause for a master that does not answer.
	redial = 500 * time.Millisecond
	// maxRedial bounds the pause for a master that ends sessions within shortSession.
	maxRedial    = 8 * time.Second
	shortSession = time.Second
	// maxTurnedAway is for a master that has said that this node is set down.
	maxTurnedAway = 2 * time.Second
)

// pause returns how long to wait after a session, or after an attempt without one if connected is
// false. lasted is how long that took; last is the previous result.
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

// jitter returns a random time from half of d to d: many slaves lose their master at the same
// moment.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
