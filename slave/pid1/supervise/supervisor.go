package supervise

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Level is how many PID namespaces the space is inside that of the supervisor.
type Level int

// The supervisors.
const (
	Inside  Level = 0 // init
	Outside Level = 1 // the slave daemon, which made the namespace
)

// Config is what a Supervisor needs.
type Config struct {
	Listener int // of the filter, stays the caller's
	Level    Level
	Launched *Launched
	FrontEnd FrontEnd // nil: there is no way to it

	// Of a supervisor outside.
	Proc int // descriptor of the space's /proc, stays the caller's
	Init int // number of init as the supervisor sees it
}

// Supervisor answers notifications. Where it can, the thread that receives one
// answers it: every other way costs another switch, ten times as much.
type Supervisor struct {
	listener int
	stopped  int // eventfd
	launched *Launched
	init     uint32
	view     view
	proc     int      // descriptor of /proc inside; -1: outside
	ns       int      // descriptor of the space's PID namespace; -1: of no use
	frontEnd FrontEnd // never nil
	alone    bool     // without a front end
	waiting  waiting
}

// New returns a Supervisor for the processes under the filter of a listener.
func New(cfg Config) (*Supervisor, error) {
	stopped, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	wakeSynchronously(cfg.Listener)
	s := &Supervisor{
		listener: cfg.Listener, stopped: stopped, launched: cfg.Launched, proc: -1, ns: -1, frontEnd: cfg.FrontEnd,
	}
	if s.frontEnd == nil {
		s.frontEnd, s.alone = nowhere{}, true
	}
	if cfg.Level == Inside {
		s.proc, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open /proc: %w", err), s.Close())
		}
		cfg.Proc, cfg.Init = s.proc, 1
	}
	s.init = uint32(cfg.Init)
	s.ns = openNamespace(cfg.Init)
	s.view = procView{level: cfg.Level, proc: cfg.Proc, ns: s.ns, listener: cfg.Listener}
	return s, nil
}

// Stop makes Run return, or the next Run if none is under way.
func (s *Supervisor) Stop() error {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := unix.Write(s.stopped, one[:]); err != nil {
		return fmt.Errorf("stop supervisor: %w", err)
	}
	return nil
}

// Rearm takes back a Stop. It is for the goroutine of Run.
func (s *Supervisor) Rearm() error {
	var count [8]byte
	if _, err := unix.Read(s.stopped, count[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("rearm supervisor: %w", err)
	}
	return nil
}

// Close is for after Run.
func (s *Supervisor) Close() error {
	err := unix.Close(s.stopped)
	for _, fd := range []int{s.proc, s.ns} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}

// Run answers until Stop, or until no process is under the filter any more. The
// callers that wait for the front end then are not answered: they wait on.
func (s *Supervisor) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		s.waiting.sweep(ctx, s.view.waits)
	})
	err := s.receive(ctx)
	cancel()
	sweeper.Wait()
	s.waiting.group.Wait()
	return err
}

func (s *Supervisor) receive(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fds := []unix.PollFd{
		{Fd: int32(s.listener), Events: unix.POLLIN},
		{Fd: int32(s.stopped), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("poll seccomp listener: %w", err)
		case fds[1].Revents != 0:
			return nil
		case fds[0].Revents&unix.POLLIN == 0: // POLLHUP
			return nil
		}
		if err := s.serve(ctx); err != nil {
			return err
		}
	}
}

// serve takes one notification and answers it, or has it wait.
func (s *Supervisor) serve(ctx context.Context) error {
	n, errno := receive(s.listener)
	switch errno {
	case 0:
	case unix.EINTR, unix.ENOENT: // the caller was interrupted before
		return nil
	default:
		return fmt.Errorf("receive seccomp notification: %w", errno)
	}
	v := s.decide(&n)
	if v.wait == nil {
		return s.answer(n.ID, v)
	}
	// Between receiving and here the caller can have ended and its number passed to
	// another thread. An answer that was computed for a stranger is sent with the ID of
	// a call that is no more, which is ENOENT; but this would have effects of its own.
	if s.alone || !s.view.waits(n.ID) {
		return nil
	}
	ok := s.waiting.begin(ctx, n.ID, func(ctx context.Context) {
		v := v.wait(ctx)
		if ctx.Err() == nil {
			_ = s.answer(n.ID, v) // a listener that is broken ends receive
		}
	})
	if !ok {
		return s.answer(n.ID, failure(unix.EAGAIN))
	}
	return nil
}

func (s *Supervisor) answer(id uint64, v verdict) error {
	r := resp{ID: id, Val: v.value, Error: -int32(v.errno)}
	if v.goOn {
		r = resp{ID: id, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	switch errno := answer(s.listener, r); errno {
	case 0, unix.ENOENT, unix.EINPROGRESS:
		return nil
	default:
		return fmt.Errorf("answer seccomp notification: %w", errno)
	}
}
