package slave

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxShadows bounds the processes elsewhere of which there are descriptors.
const maxShadows = 1024

// shadowPause is waited before the front end is asked anew about an end.
const shadowPause = time.Second

// shadows are the processes of the space that stand for processes that are elsewhere:
// descriptors of these are descriptors of those (pidfd_open(2)). Each lives until its
// process has ended, whether anybody still has a descriptor or not: nobody can know.
// Init keeps their descriptors, so the next daemon goes on with them.
type shadows struct {
	log  *slog.Logger
	make func(context.Context, wire.PID) (*os.File, error)
	drop func(name string)                     // has init drop its descriptor
	ends func(context.Context, wire.PID) error // returns when a process elsewhere has ended

	making sync.Mutex // held while one is made
	begun  chan wire.PID
	unseen chan wire.PID // init may have made one, but who asked has left before the answer

	mu      sync.Mutex
	of      map[wire.PID]*shadow  // by who they stand for
	numbers map[wire.PID]wire.PID // who they stand for, by their own
}

// shadow is one of them.
type shadow struct {
	file   *os.File
	number wire.PID // in the space
	host   int      // the same process, as this daemon sees it
}

func newShadows(log *slog.Logger) *shadows {
	return &shadows{
		log: log, begun: make(chan wire.PID, maxShadows), unseen: make(chan wire.PID, maxShadows),
		of: make(map[wire.PID]*shadow), numbers: make(map[wire.PID]wire.PID),
	}
}

// resume goes on with those that a former daemon has left. It takes them out of what is
// kept, and is for before run.
func (s *shadows) resume(kept map[string][]*os.File) {
	for name, files := range kept {
		text, ok := strings.CutPrefix(name, wire.ShadowName+" ")
		if !ok {
			continue
		}
		delete(kept, name)
		pid, err := strconv.ParseInt(text, 10, 32)
		if err == nil && len(files) == 1 && s.enter(wire.PID(pid), files[0]) == nil {
			continue
		}
		s.drop(name)
		_ = closeFiles(files) // it has ended
	}
}

// enter enters a shadow, in place of one that has ended. The file is the table's then.
func (s *shadows) enter(pid wire.PID, f *os.File) error {
	sh, err := shadowBy(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.of[pid]
	if old == nil && len(s.of) >= maxShadows {
		return unix.ENFILE
	}
	s.of[pid], s.numbers[sh.number] = sh, pid
	if old == nil {
		s.begun <- pid // there is room: each is in it once
		return nil
	}
	if old.number != sh.number {
		delete(s.numbers, old.number)
	}
	return old.file.Close()
}

// shadowBy finds out the numbers of a shadow by its descriptor.
func shadowBy(f *os.File) (*shadow, error) {
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("descriptor of a process: %w", err)
	}
	for line := range bytes.Lines(info) {
		numbers, ok := bytes.CutPrefix(line, []byte("NSpid:"))
		if !ok {
			continue
		}
		of := bytes.Fields(numbers)
		if len(of) < 2 {
			break // it has ended, or is not in a space
		}
		host, err := strconv.Atoi(string(of[0]))
		if err != nil {
			break
		}
		number, err := strconv.ParseInt(string(of[len(of)-1]), 10, 32)
		if err != nil || host <= 0 || number <= 0 {
			break
		}
		return &shadow{file: f, number: wire.PID(number), host: host}, nil
	}
	return nil, unix.ESRCH
}

// alive reports whether the process has not ended.
func (s *shadow) alive() bool {
	fds := []unix.PollFd{{Fd: int32(s.file.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

// open opens a descriptor of a shadow, which is made if there is none.
func (s *shadows) open(ctx context.Context, pid wire.PID, flags int) (*os.File, error) {
	s.making.Lock()
	defer s.making.Unlock()
	if f, err := s.openThat(pid, flags); f != nil || err != nil {
		return f, err
	}
	f, err := s.make(ctx, pid)
	if err != nil {
		if ctx.Err() != nil {
			select {
			case s.unseen <- pid:
			default: // the next daemon finds it
			}
		}
		return nil, err
	}
	if err := s.enter(pid, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f, err = s.openThat(pid, flags)
	if f == nil && err == nil {
		err = unix.ESRCH
	}
	return f, err
}

// openThat opens one that there is, with flags of its own. It returns nil if there is
// none, or it was killed with all others of the space.
func (s *shadows) openThat(pid wire.PID, flags int) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[pid]
	switch {
	case sh == nil && len(s.of) >= maxShadows:
		return nil, unix.ENFILE
	case sh == nil || !sh.alive():
		return nil, nil
	}
	fd, err := unix.PidfdOpen(sh.host, flags)
	if err != nil {
		return nil, fmt.Errorf("descriptor of shadow %d: %w", sh.number, err)
	}
	f := os.NewFile(uintptr(fd), "shadow")
	if !sh.alive() { // its number may have been another's already
		_ = f.Close()
		return nil, nil
	}
	return f, nil
}

// shadowed returns who the process with a number stands for.
func (s *shadows) shadowed(number wire.PID) (wire.PID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, ok := s.numbers[number]
	return pid, ok
}

// run ends shadows when their processes have ended.
func (s *shadows) run(ctx context.Context) error {
	var following sync.WaitGroup
	defer following.Wait()
	for {
		select {
		case pid := <-s.begun:
			following.Go(func() { s.follow(ctx, pid) })
		case pid := <-s.unseen:
			following.Go(func() { s.see(ctx, pid) })
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// see enters a shadow that init may have made for nobody, so that it ends.
func (s *shadows) see(ctx context.Context, pid wire.PID) {
	f, err := s.open(ctx, pid, 0)
	if err != nil {
		s.log.Debug("shadow is left to the next daemon", "pid", pid, "err", err)
		return
	}
	_ = f.Close()
}

// follow waits for the end of a process and ends its shadow.
func (s *shadows) follow(ctx context.Context, pid wire.PID) {
	for {
		err := s.ends(ctx, pid)
		if err == nil {
			break
		}
		if ctx.Err() == nil {
			s.log.Warn("end of a process elsewhere is not known", "pid", pid, "err", err)
		}
		select {
		case <-time.After(shadowPause):
		case <-ctx.Done():
			return
		}
	}
	s.making.Lock()
	defer s.making.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[pid]
	delete(s.of, pid)
	delete(s.numbers, sh.number)
	s.drop(fmt.Sprintf("%s %d", wire.ShadowName, pid))
	err := unix.PidfdSendSignal(int(sh.file.Fd()), unix.SIGKILL, nil, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		s.log.Error("a shadow does not end", "pid", pid, "err", err)
	}
	_ = sh.file.Close()
}

// close closes the descriptors, and is for after run.
func (s *shadows) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, sh := range s.of {
		_ = sh.file.Close()
		delete(s.of, pid)
	}
}
