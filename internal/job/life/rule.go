package life

import "time"

// When says after which end a process is started again.
type When string

const (
	No        When = "no"
	OnFailure When = "on-failure"
	Always    When = "always"
)

// Rule says when a process is started again, and how long it waits before. The zero rule is [No].
type Rule struct {
	When     When
	Delay    time.Duration // before the first restart; 0: DefaultDelay
	MaxDelay time.Duration // at most; 0: DefaultMaxDelay, or Delay if that is more
}

const (
	DefaultDelay    = time.Second
	DefaultMaxDelay = time.Minute
)

// FirstDelay returns the wait before the first restart.
func (r Rule) FirstDelay() time.Duration {
	if r.Delay <= 0 {
		return DefaultDelay
	}
	return r.Delay
}

// LastDelay returns the longest wait.
func (r Rule) LastDelay() time.Duration {
	if r.MaxDelay <= 0 {
		return max(DefaultMaxDelay, r.FirstDelay())
	}
	return max(r.MaxDelay, r.FirstDelay())
}

// Wait returns the wait before a restart, the nth (from 0 on) without a long run between: each
// is twice as long as the one before.
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

// again reports whether a process that has ended in this way is started again.
func (r Rule) again(e Exit) bool { return r.When == Always || r.When == OnFailure && !e.OK() }
