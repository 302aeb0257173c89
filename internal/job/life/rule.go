package life

import "time"

// When says after which ends a process is restarted.
type When string

const (
	No        When = "no"
	OnFailure When = "on-failure"
	Always    When = "always"
)

// Rule says when a process is restarted, and after which delay. The zero rule is [No].
type Rule struct {
	When     When
	Delay    time.Duration // before the first restart; 0: DefaultDelay
	MaxDelay time.Duration // longest delay; 0: DefaultMaxDelay, or Delay if that is longer
}

const (
	DefaultDelay    = time.Second
	DefaultMaxDelay = time.Minute
)

// FirstDelay returns the delay before the first restart.
func (r Rule) FirstDelay() time.Duration {
	if r.Delay <= 0 {
		return DefaultDelay
	}
	return r.Delay
}

// LastDelay returns the longest delay.
func (r Rule) LastDelay() time.Duration {
	if r.MaxDelay <= 0 {
		return max(DefaultMaxDelay, r.FirstDelay())
	}
	return max(r.MaxDelay, r.FirstDelay())
}

// Wait returns the delay before the nth restart (from 0 on) without a long run in between. Each
// delay is twice as long as the one before.
func (r Rule) Wait(n int) time.Duration {
	wait, most := r.FirstDelay(), r.LastDelay()
	for ; n > 0 && wait < most; n-- {
		if wait > most/2 {
			return most
		}
		wait *= 2
	}
	return wait
}

// again reports whether the rule restarts a process after such an end.
func (r Rule) again(e Exit) bool { return r.When == Always || r.When == OnFailure && !e.OK() }
