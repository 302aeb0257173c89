package cluster

import (
	"testing"
	"time"

	"bproc/test/limit"
)

// eventuallyTimeout is long: it is only reached by conditions that never hold.
var eventuallyTimeout = limit.Scaled(2 * time.Minute)

// Eventually waits until check returns nil.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(eventuallyTimeout)
	pause := time.Millisecond
	for {
		err := check()
		if err == nil {
			return
		}
		if tooLate(t) {
			t.Fatalf("%s: not before the machines were switched off: %v", what, err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v: %v", what, eventuallyTimeout, err)
		}
		time.Sleep(pause)
		pause = min(pause*2, 20*time.Millisecond)
	}
}
