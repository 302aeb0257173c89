package client

import "time"

// SetBypassAgain has bypasses asked for again after another time, for a test.
func SetBypassAgain(d time.Duration) (restore func()) {
	was := bypassAgain
	bypassAgain = d
	return func() { bypassAgain = was }
}
