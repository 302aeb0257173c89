package pid1

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// deadline is when the lease on which the processes live runs out. The daemon moves
// it on as long as it hears from the master. That init looks after it has the
// processes end in time also while the daemon hangs, or there is none.
type deadline struct {
	at    atomic.Int64  // nanoseconds of CLOCK_MONOTONIC; 0: never
	moved chan struct{} // holds one
}

func (d *deadline) move(at int64) {
	d.at.Store(at)
	select {
	case d.moved <- struct{}{}:
	default: // it has not looked since
	}
}

// left returns how long there is until the deadline.
func (d *deadline) left() time.Duration {
	at := d.at.Load()
	if at == 0 {
		return math.MaxInt64
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // clock_gettime(2): the clock is there since Linux 2.6
	}
	return time.Duration(at - now.Nano())
}

// expire ends all processes at the deadline.
func (in *Init) expire(ctx context.Context) error {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		select {
		case <-in.deadline.moved:
			timer.Reset(in.deadline.left())
		case <-timer.C:
			if left := in.deadline.left(); left > 0 { // it was moved at this moment
				timer.Reset(left)
				continue
			}
			in.cfg.Log.Warn("the lease has run out; all processes are killed")
			in.killAll()
		case <-ctx.Done():
			return nil
		}
	}
}
