package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

// serve answers the calls that a former supervisor has left, and then new ones.
func (s *Supervisor) serve(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer hurry()()
	for _, c := range s.table.open() {
		if err := s.handle(ctx, c); err != nil {
			return err
		}
	}
	for {
		c := s.table.take()
		more, err := s.await(c != nil)
		if err != nil || !more {
			return err
		}
		if c == nil {
			s.table.drop(s.view.waits)
			continue
		}
		if err := s.receive(ctx, c); err != nil {
			return err
		}
	}
}

// await waits for a notification. It reports false after Stop, and when there will be no more. If
// there is no room for another call it only waits a little.
func (s *Supervisor) await(room bool) (bool, error) {
	fds := [...]unix.PollFd{
		{Fd: int32(s.stopped), Events: unix.POLLIN},
		{Fd: int32(s.listener), Events: unix.POLLIN},
	}
	for {
		var err error
		if room {
			_, err = longcall.Poll(fds[:], -1)
		} else {
			_, err = longcall.Poll(fds[:1], lookAfter)
		}
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("poll seccomp listener: %w", err)
		}
		over := fds[0].Revents != 0 || fds[1].Revents != 0 && fds[1].Revents&unix.POLLIN == 0 // POLLHUP
		return !over, nil
	}
}

// receive takes one notification.
func (s *Supervisor) receive(ctx context.Context, c *slot) error {
	c.receiver = int32(s.level)
	switch errno := receive(s.listener, &c.notif); errno {
	case 0:
		return s.handle(ctx, c)
	case unix.EINTR, unix.ENOENT: // the caller was interrupted before
		s.table.release(c)
		return nil
	default:
		return fmt.Errorf("receive seccomp notification: %w", errno)
	}
}

// handle answers a call, or has it wait. A call that needs an absent daemon stays where it is, for
// the next supervisor.
func (s *Supervisor) handle(ctx context.Context, c *slot) error {
	by := s.eyes[Level(c.receiver)]
	if by == nil {
		return nil
	}
	id := c.notif.ID
	v, left := s.judge(c, by)
	if !left && v.wait == nil {
		return s.finish(c, v)
	}
	user, known := by.user(c.notif.PID)
	switch {
	case !known: // the caller has gone, as below
		s.table.release(c)
		return nil
	case !s.mayWait(c, user):
		return s.finish(c, failure(unix.EAGAIN))
	case left:
		return nil
	// Between receiving and here the caller can have ended and its number passed to another thread.
	// An answer computed for the wrong caller is sent with the ID of a call that no longer exists,
	// and gets ENOENT. But what follows would have effects of its own.
	case !s.view.waits(id):
		s.table.release(c)
		return nil
	}
	s.waiting.begin(ctx, id, func(ctx context.Context) {
		v := v.wait(ctx)
		switch {
		case ctx.Err() == nil:
			_ = s.finish(c, v) // a broken listener ends serve
		case errors.Is(context.Cause(ctx), errCallerGone):
			s.table.release(c)
			fallthrough
		default:
			_ = v.file.Close() // nil is invalid, which is harmless
		}
	})
	return nil
}

// mayWait reports whether a call may wait. Without a front end nothing else notices that callers
// that count have gone.
func (s *Supervisor) mayWait(c *slot, user uint32) bool {
	if s.table.wait(c, user) {
		return true
	}
	if s.alone == nil || time.Since(s.alone.dropped) < lookAfter {
		return false
	}
	s.alone.dropped = time.Now()
	s.table.drop(func(id uint64) bool { return id == c.notif.ID || s.view.waits(id) })
	return s.table.wait(c, user)
}

// judge decides about a call, or leaves it to the next supervisor.
func (s *Supervisor) judge(c *slot, by *eyes) (v verdict, left bool) {
	if s.alone == nil {
		return s.decide(&c.notif, by), false
	}
	s.alone.wanted = false
	v = s.decide(&c.notif, by)
	return v, v.wait != nil || s.alone.wanted
}

// finish answers a call.
func (s *Supervisor) finish(c *slot, v verdict) error {
	id := c.notif.ID
	r := resp{ID: id, Val: v.value, Error: -int32(v.errno)}
	if v.goOn {
		r = resp{ID: id, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	var errno unix.Errno
	if v.file != nil {
		errno = s.give(id, v.file)
	} else {
		errno = answer(s.listener, r)
	}
	s.table.release(c)
	switch errno {
	case 0, unix.ENOENT, unix.EINPROGRESS:
		return nil
	default:
		return fmt.Errorf("answer seccomp notification: %w", errno)
	}
}

// give answers a call with a descriptor. If the caller can have no more descriptors, that is the
// answer.
func (s *Supervisor) give(id uint64, f *os.File) unix.Errno {
	defer f.Close()
	errno := answerFile(s.listener, id, int(f.Fd()))
	switch errno {
	case 0, unix.ENOENT, unix.EINPROGRESS:
		return errno
	}
	return answer(s.listener, resp{ID: id, Error: -int32(errno)})
}
