// Package flock takes locks that say who uses something (flock(2)). The kernel releases one when its
// process ends, in whatever way that ends.
package flock

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a lock is awaited that another has. A process that was just killed may have left
// its descriptor to a child that has not executed its program yet; on a busy machine that takes a while.
const patience = 2 * time.Second

// pause is the time between two attempts. It is short, since nobody adopts ghosts or serves clients
// meanwhile.
const pause = time.Millisecond

// ErrTaken says that another process has a lock.
var ErrTaken = errors.New("another process has it")

// Take takes the lock of an open file or directory. The error is ErrTaken if another process keeps it.
func Take(f *os.File) error { return TakeWithin(f, patience) }

// TakeWithin is Take for a lock whose owner may need patience to end.
func TakeWithin(f *os.File, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Now().After(deadline):
			return ErrTaken
		}
	}
}
