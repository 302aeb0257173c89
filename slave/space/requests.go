package space

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// pendingLaunch is a launch that bpinit has not answered.
type pendingLaunch struct {
	pid  wire.PID
	done func(wire.Stage, unix.Errno)
}

// Launch starts a process. The streams are those of its descriptors that are
// streams, in order; the caller may close them when Launch has returned. They
// are made blocking, as a program expects its standard descriptors to be.
//
// done is called from the goroutine of Run, before OnStatus is for the first
// time for this process: with stage 0 when the command executes, else with what
// failed, and then the number is free again. It must not block. It is not
// called if Launch returns an error. Any number of launches may be under way;
// beyond a thousand, bpinit answers EAGAIN.
func (s *Space) Launch(sp *wire.Spawn, streams []*os.File, done func(wire.Stage, unix.Errno)) error {
	fds := make([]int, len(streams))
	for i, f := range streams {
		fds[i] = int(f.Fd())
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return fmt.Errorf("launch %d: %w", sp.PID, ErrGone)
	}
	s.last++
	number := s.last
	s.pending[number] = pendingLaunch{sp.PID, done}
	s.mu.Unlock()

	s.parents.Set(sp.PID, sp.Parent)
	if err := s.conn.Write(number, &wire.InitLaunch{Spawn: *sp}, fds...); err != nil {
		if _, ok := s.take(number); ok {
			s.parents.Forget(sp.PID)
			return fmt.Errorf("launch %d: %w", sp.PID, err)
		}
	}
	return nil
}

// take takes a launch out of pending, so that it is answered once.
func (s *Space) take(number uint64) (pendingLaunch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pending[number]
	delete(s.pending, number)
	return p, ok
}

func (s *Space) launched(number uint64, m *wire.InitLaunched) {
	p, ok := s.take(number)
	if !ok {
		s.cfg.Log.Warn("answer to no launch", "pid", m.PID)
		return
	}
	if m.Stage != 0 {
		s.parents.Forget(p.pid)
	}
	p.done(m.Stage, unix.Errno(m.Errno))
}

// fail ends the launches that will not be answered any more.
func (s *Space) fail() {
	s.mu.Lock()
	pending := s.pending
	s.pending = make(map[uint64]pendingLaunch)
	s.ended = true
	s.mu.Unlock()
	for _, p := range pending {
		p.done(wire.StageSpawn, unix.ECONNRESET)
	}
}

func (s *Space) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Signal sends a signal, with the siginfo of 128 bytes that the front end's
// kernel made. A process that is gone is no error; for one whose launch is
// under way the signal waits.
func (s *Space) Signal(pid wire.PID, info []byte) error {
	if err := s.conn.Write(0, &wire.InitSignal{PID: pid, Info: info}); err != nil {
		return fmt.Errorf("signal %d: %w", pid, err)
	}
	return nil
}

// SetCursor makes next the number that the space's kernel gives to the next
// process that is forked, or the first free one after it.
func (s *Space) SetCursor(next wire.PID) error {
	if err := s.conn.Write(0, &wire.InitCursor{Next: next}); err != nil {
		return fmt.Errorf("cursor to %d: %w", next, err)
	}
	return nil
}

// KillAll ends every process of the space but bpinit. Their statuses follow.
func (s *Space) KillAll() error {
	if err := s.Thaw(); err != nil { // a frozen process does not die of its signal
		return err
	}
	if err := s.conn.Write(0, &wire.InitKillAll{}); err != nil {
		return fmt.Errorf("kill all: %w", err)
	}
	return nil
}

// SetParent sets what getppid answers a process that was started from the
// front end. Launch does this for what it starts, and the end of the process
// undoes it.
func (s *Space) SetParent(pid, parent wire.PID) { s.parents.Set(pid, parent) }
