package pid1

import (
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/internal/pidfd"
	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// shadowName is the name under which the descriptor of a shadow is kept.
func shadowName(m *wire.InitShadow) string {
	return fmt.Sprintf("%s %d %d", wire.ShadowName, m.PID, m.UID)
}

// beginShadow starts to make a shadow. As with groups, the reader of requests does not wait for it.
func (in *Init) beginShadow(g *errgroup.Group, c *rights.Conn, number uint64, m *wire.InitShadow) {
	if !in.places.Take(ownRequest, 1) {
		in.order.reply(c, number, done(unix.EAGAIN))
		return
	}
	g.Go(func() error {
		defer in.places.Leave(ownRequest, 1)
		fd, err := in.standins.shadow(m.PID)
		if err != nil {
			in.order.reply(c, number, done(failed(err).errno))
			return nil
		}
		defer rights.Close([]int{fd})
		kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			in.order.reply(c, number, done(failed(err).errno))
			return nil
		}
		in.stored.put(shadowName(m), []int{kept}) // before it is sent: the next daemon must end the shadow
		in.order.reply(c, number, done(0), fd)
		return nil
	})
}

// shadow opens a descriptor of the shadow of a process, which it makes if none lives.
func (t *standins) shadow(pid wire.PID) (fd int, err error) {
	if pid <= 0 {
		return -1, unix.EINVAL
	}
	t.making.Lock()
	defer t.making.Unlock()
	if s := t.shadowOf(pid); s != nil {
		fd, err := t.open(s)
		if err == nil && !pidfd.Ended(fd, 0) {
			return fd, nil
		}
		if err == nil {
			_ = unix.Close(fd)
		} else if !errors.Is(err, unix.ESRCH) {
			return -1, err
		}
		t.awaitEnd(s) // it is being reaped
	}
	s, err := t.makeShadow(pid)
	if err != nil {
		return -1, err
	}
	return t.open(s)
}

// shadowOf returns the shadow of a process in the table; nil: none.
func (t *standins) shadowOf(pid wire.PID) *sleeper {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shadows[pid]
}

func (t *standins) makeShadow(pid wire.PID) (*sleeper, error) {
	t.mu.Lock()
	home := t.sessions[initSession]
	t.mu.Unlock()
	s := t.newSleeper(0)
	s.session, s.shadowed = home, pid
	s.setUp = t.named(home)
	if err := t.bearBetweenZones(s); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.doomed {
		t.shadows[pid] = s
	}
	return s, nil
}

// open returns a descriptor of a stand-in.
func (t *standins) open(s *sleeper) (fd int, err error) {
	own, _, errno := unix.RawSyscall6(unix.SYS_PIDFD_OPEN, uintptr(s.pid()), 0, 0, 0, 0, t.cookie)
	if errno != 0 {
		return -1, errno
	}
	return int(own), nil
}
