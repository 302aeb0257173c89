package pid1

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// deadline is when the lease on which the processes live runs out. The daemon moves it on as long
// as it hears from the master. Init checks it, so that the processes end in time even if the daemon
// hangs, or there is none.
//
// The front end's clock goes on while this machine sleeps, so the deadline is one of
// CLOCK_BOOTTIME.
type deadline struct {
	at    atomic.Int64 // nanoseconds; 0: never
	timer *os.File     // timerfd_create(2)
}

func (d *deadline) init() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("timer of the deadline: %w", err)
	}
	d.timer = os.NewFile(uintptr(fd), "timerfd")
	return nil
}

// move moves the deadline; 0: there is none.
func (d *deadline) move(at int64) error {
	d.at.Store(at)
	return d.arm(max(at, 0), unix.TFD_TIMER_ABSTIME)
}

func (d *deadline) arm(nanoseconds int64, flags int) error {
	raw, err := d.timer.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(nanoseconds)}
	var setErr error
	err = raw.Control(func(fd uintptr) { setErr = unix.TimerfdSettime(int(fd), flags, &spec, nil) })
	if err := errors.Join(err, setErr); err != nil {
		return fmt.Errorf("timer of the deadline: %w", err)
	}
	return nil
}

// passed reports whether the deadline has passed.
func (d *deadline) passed() bool {
	at := d.at.Load()
	if at == 0 {
		return false
	}
	var now unix.Timespec
	// There is no error: the clock exists since Linux 2.6.39 (clock_gettime(2)).
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return now.Nano() >= at
}

// unreadPause is how long expire waits for a daemon's requests that have not been read: while the
// space is frozen init is, too, and one of the requests may move the deadline.
const unreadPause = 20 * time.Millisecond

// maxUnread bounds how often expire waits: a daemon that hangs may have left requests that cannot
// be read, because it does not read the answers to those before. Init must run to count, so the
// waits are not used up when it is let go on.
const maxUnread = 50

// expire ends all processes at the deadline.
func (in *Init) expire(ctx context.Context, g *errgroup.Group) error {
	var expirations [8]byte
	before := true // something was unread
	for waited := 0; ; {
		_, err := in.deadline.timer.Read(expirations[:])
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("timer of the deadline: %w", err)
		}
		unread := in.unread()
		switch {
		case !in.deadline.passed(): // it was moved at this moment
			err = in.deadline.arm(in.deadline.at.Load(), unix.TFD_TIMER_ABSTIME)
			unread, waited = true, 0
		case (unread || before) && waited < maxUnread: // nothing unread twice: what was read the first time has had its effect
			err = in.deadline.arm(unreadPause.Nanoseconds(), 0)
			waited++
		default:
			in.lapse(g)
			unread, waited = true, 0
		}
		if err != nil {
			return err
		}
		before = unread
	}
}

// lapse ends all processes, once, if the deadline has passed.
func (in *Init) lapse(g *errgroup.Group) {
	at := in.deadline.at.Load()
	if in.deadline.passed() && in.deadline.at.CompareAndSwap(at, 0) {
		in.cfg.Log.Warn("the lease has run out; all processes are killed")
		in.killAll(g)
	}
}

// unread reports whether there are unread requests.
func (in *Init) unread() bool {
	c := in.newest.Load()
	return c != nil && c.Unread() > 0
}
