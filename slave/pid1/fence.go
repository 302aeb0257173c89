package pid1

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"bproc/wire"
)

// fence is the numbers between which the space's allocation cursor stays while there
// is no daemon to move it on: it goes back to the first of them, and the kernel passes
// over those in use. Beyond are numbers of other nodes.
type fence struct {
	first, end wire.PID      // end is the first beyond; 0: there is no fence
	left       chan struct{} // holds one: a daemon has gone
}

// A space gives not more than 40,000 numbers in a second.
const (
	timeOfNumber = 25 * time.Microsecond
	fenceLook    = time.Millisecond       // between two looks at least
	fenceRest    = 100 * time.Millisecond // and at most
)

// low reports whether the cursor is to go back, when last was given last, and when to
// look again otherwise. A quarter of the numbers is kept for the time that this takes.
func (f *fence) low(last wire.PID) (back bool, again time.Duration) {
	edge := f.end - (f.end-f.first)/4
	if last < f.first-1 || last >= edge {
		return true, fenceLook
	}
	return false, min(max(time.Duration(edge-last)*timeOfNumber, fenceLook), fenceRest)
}

// keepFence looks after the cursor whenever there is no daemon.
func (in *Init) keepFence(ctx context.Context) error {
	again := time.NewTimer(fenceRest)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-in.fence.left:
		case <-again.C:
		}
		if next, absent := in.lookAtFence(); absent {
			again.Reset(next)
		}
	}
}

// lookAtFence reports whether there is no daemon, and when to look again then. It holds
// the lock of order, so that a daemon that comes moves the cursor after it.
func (in *Init) lookAtFence() (again time.Duration, absent bool) {
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	f := &in.fence
	if in.order.conn != nil || f.end == 0 {
		return 0, false
	}
	last, err := in.lastNumber()
	if err != nil {
		in.cfg.Log.Error("cannot see the cursor", "err", err)
		return fenceRest, true
	}
	back, again := f.low(last)
	if back {
		if err := in.moveCursor(f.first); err != nil {
			in.cfg.Log.Error("cannot move the cursor", "pid", f.first, "err", err)
		}
	}
	return again, true
}

// setFence takes in what the daemon says.
func (in *Init) setFence(m *wire.InitFence) error {
	if m.End != 0 && (m.First < 2 || m.End <= m.First) {
		return fmt.Errorf("%w: fence from %d to %d", wire.ErrFrame, m.First, m.End)
	}
	in.order.mu.Lock()
	defer in.order.mu.Unlock()
	in.fence.first, in.fence.end = m.First, m.End
	return nil
}

// lastNumber returns the number that the kernel has given last.
func (in *Init) lastNumber() (wire.PID, error) {
	var text [16]byte
	n, err := in.cursor.ReadAt(text[:], 0)
	if n == 0 && err != nil {
		return 0, fmt.Errorf("allocation cursor: %w", err)
	}
	last, err := strconv.Atoi(string(bytes.TrimSpace(text[:n])))
	if err != nil {
		return 0, fmt.Errorf("allocation cursor: %w", err)
	}
	return wire.PID(last), nil
}
