package supervise

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/longcall"
)

// Level is the number of PID namespaces that the space is inside the supervisor's.
type Level int

// The supervisors.
const (
	Inside  Level = 0 // init
	Outside Level = 1 // the slave daemon, which made the namespace
)

// Config is what a Supervisor needs.
type Config struct {
	Listener int // of the filter, stays the caller's
	Table    int // of NewTable, stays the caller's
	Level    Level
	Launched *Launched
	FrontEnd FrontEnd // nil: there is no connection to it

	// Proc and Init are for a supervisor outside.
	Proc int // descriptor of the space's /proc, stays the caller's
	Init int // number of init as the supervisor sees it
}

// Supervisor answers notifications. Where possible, the thread that receives one answers it: every
// other way costs another switch, ten times as much.
type Supervisor struct {
	listener int
	stopped  int // eventfd
	launched *Launched
	table    *table
	level    Level
	eyes     map[Level]*eyes // by the receiver's level; callers of other receivers cannot be seen
	view     view            // of what is the same for all
	opened   []int           // descriptors, to be closed
	frontEnd FrontEnd        // never nil
	alone    *nowhere        // the same, without a front end; else nil
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
		listener: cfg.Listener, stopped: stopped, launched: cfg.Launched, level: cfg.Level, frontEnd: cfg.FrontEnd,
	}
	if s.frontEnd == nil {
		s.alone = new(nowhere)
		s.frontEnd = s.alone
	}
	if s.table, err = openTable(cfg.Table); err == nil {
		err = s.look(cfg)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// look opens the views of the callers.
func (s *Supervisor) look(cfg Config) error {
	own, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /proc: %w", err)
	}
	s.opened = append(s.opened, own)
	if cfg.Level == Inside {
		cfg.Proc, cfg.Init = own, 1
	}
	ns := openNamespace(cfg.Init)
	if ns >= 0 {
		s.opened = append(s.opened, ns)
	}
	view := procView{level: cfg.Level, own: own, proc: cfg.Proc, ns: ns, users: userNamespace(), listener: cfg.Listener}
	s.view = view
	s.eyes = map[Level]*eyes{cfg.Level: {view, uint32(cfg.Init)}}
	if cfg.Level == Outside {
		inside := procView{level: Inside, own: cfg.Proc, proc: cfg.Proc, ns: -1, users: userNamespace(), listener: cfg.Listener}
		s.eyes[Inside] = &eyes{deputyView{inside}, 1}
	}
	return nil
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

// Rearm undoes a Stop. Only the goroutine of Run may call it.
func (s *Supervisor) Rearm() error {
	var count [8]byte
	if _, err := unix.Read(s.stopped, count[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("rearm supervisor: %w", err)
	}
	return nil
}

// Close must be called after Run.
func (s *Supervisor) Close() error {
	err := unix.Close(s.stopped)
	for _, fd := range s.opened {
		err = errors.Join(err, unix.Close(fd))
	}
	if s.table != nil {
		err = errors.Join(err, s.table.close())
	}
	return err
}

// Run answers calls until Stop, or until no process is under the filter any more. Callers that wait
// for the front end then are not answered: they wait on, and the next supervisor that runs with
// this table answers them.
func (s *Supervisor) Run(ctx context.Context) (err error) {
	if ok, err := s.lock(); err != nil || !ok {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		s.waiting.sweep(ctx, s.view.waits)
	})
	err = s.serve(ctx)
	cancel()
	sweeper.Wait()
	s.waiting.group.Wait()
	return errors.Join(err, s.table.unlock())
}

// lockPause is the pause before another attempt. It is not possible to wait for flock(2) and for
// something else at the same time.
const lockPause = 2 * time.Millisecond

// lock waits until no other supervisor receives. It reports false if Stop comes first.
func (s *Supervisor) lock() (bool, error) {
	stopped := []unix.PollFd{{Fd: int32(s.stopped), Events: unix.POLLIN}}
	for {
		if ok, err := s.table.lock(); ok || err != nil {
			return ok, err
		}
		n, err := longcall.Poll(stopped, lockPause)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("poll: %w", err)
		case n > 0:
			return false, nil
		}
	}
}
