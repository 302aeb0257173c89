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

	"bproc/internal/crowd"
	"bproc/internal/pidfd"
	"bproc/wire"
)

// maxShadows bounds the processes elsewhere that have descriptors here. No user can have all of
// them: a shadow counts for the first user who wanted it.
const maxShadows = 1024

// shadowPause is the pause before the front end is asked again about an end.
const shadowPause = time.Second

// shadows are the processes of the space that stand for processes elsewhere: descriptors of the
// former are used as descriptors of the latter (pidfd_open(2)). A shadow lives until its process
// has ended, since nobody can know whether a process still has a descriptor of it. Init keeps the
// shadows' descriptors, so the next daemon goes on with them.
type shadows struct {
	log  *slog.Logger
	make func(context.Context, wire.PID, uint32) (*os.File, error)
	drop func(name string)                     // has init drop its descriptor
	ends func(context.Context, wire.PID) error // returns when a process elsewhere has ended

	making sync.Mutex // held while a shadow is made
	begun  chan wire.PID
	unseen chan unseen // init may have made the shadow, but the requester left before the answer
	places *crowd.Shares[uint32]

	mu      sync.Mutex
	of      map[wire.PID]*shadow  // by the process elsewhere
	numbers map[wire.PID]wire.PID // process elsewhere, by the number of its shadow
}

// unseen is a shadow that a user has asked for.
type unseen struct {
	pid  wire.PID
	user uint32
}

// shadow is the shadow of one process.
type shadow struct {
	file   *os.File
	name   string   // under which init keeps the file
	user   uint32   // for which it counts
	number wire.PID // in the space
	host   int      // its number as this daemon sees it
}

func newShadows(log *slog.Logger) *shadows {
	return &shadows{
		log: log, begun: make(chan wire.PID, maxShadows), unseen: make(chan unseen, maxShadows),
		places: crowd.NewShares[uint32](maxShadows),
		of:     make(map[wire.PID]*shadow), numbers: make(map[wire.PID]wire.PID),
	}
}

// resume goes on with the shadows of a former daemon, and removes them from kept. It must be called
// before run.
func (s *shadows) resume(kept map[string][]*os.File) {
	for name, files := range kept {
		text, ok := strings.CutPrefix(name, wire.ShadowName+" ")
		if !ok {
			continue
		}
		delete(kept, name)
		pid, user, err := shadowOf(text)
		if err == nil && len(files) == 1 && s.of[pid] == nil && s.enter(name, pid, user, files[0]) == nil {
			s.places.Keep(user, 1)
			continue
		}
		s.drop(name)
		_ = closeFiles(files) // the shadow has ended
	}
}

// shadowOf parses the text behind [wire.ShadowName]. An init before this release names no user.
func shadowOf(text string) (wire.PID, uint32, error) {
	pid, user, known := strings.Cut(text, " ")
	number, err := strconv.ParseInt(pid, 10, 32)
	if err != nil || !known {
		return wire.PID(number), 0, err
	}
	uid, err := strconv.ParseUint(user, 10, 32)
	return wire.PID(number), uint32(uid), err
}

// nameOf returns the name under which init keeps a shadow.
func nameOf(pid wire.PID, user uint32) string {
	return fmt.Sprintf("%s %d %d", wire.ShadowName, pid, user)
}

// enter enters a shadow that init keeps under a name, in place of one that has ended. On success
// the table owns the file.
func (s *shadows) enter(name string, pid wire.PID, user uint32, f *os.File) error {
	sh, err := shadowBy(f)
	if err != nil {
		return err
	}
	sh.name, sh.user = name, user
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.of[pid]
	if old == nil && len(s.of) >= maxShadows {
		return unix.ENFILE
	}
	s.of[pid], s.numbers[sh.number] = sh, pid
	if old == nil {
		s.begun <- pid // does not block: each process is in it once
		return nil
	}
	if old.number != sh.number {
		delete(s.numbers, old.number)
	}
	return old.file.Close()
}

// shadowBy finds the numbers of a shadow by its descriptor.
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
	return !pidfd.Ended(int(s.file.Fd()), 0)
}

// open opens a descriptor of a shadow, and makes the shadow for a user if there is none.
func (s *shadows) open(ctx context.Context, pid wire.PID, user uint32, flags int) (*os.File, error) {
	s.making.Lock()
	defer s.making.Unlock()
	if f, err := s.openThat(pid, flags); f != nil || err != nil {
		return f, err
	}
	if err := s.renew(ctx, pid, user); err != nil {
		return nil, err
	}
	f, err := s.openThat(pid, flags)
	if f == nil && err == nil {
		err = unix.ESRCH
	}
	return f, err
}

// renew makes a shadow. A shadow that replaces another counts for the same user.
func (s *shadows) renew(ctx context.Context, pid wire.PID, user uint32) (err error) {
	s.mu.Lock()
	old := s.of[pid]
	s.mu.Unlock()
	if old != nil {
		user = old.user
	} else if !s.places.Take(user, 1) {
		return unix.ENFILE
	}
	f, err := s.make(ctx, pid, user)
	if err == nil {
		if err = s.enter(nameOf(pid, user), pid, user, f); err == nil {
			return nil
		}
		err = errors.Join(err, f.Close())
	} else if ctx.Err() != nil {
		select {
		case s.unseen <- unseen{pid, user}:
		default: // the next daemon finds it
		}
	}
	if old == nil {
		s.places.Leave(user, 1)
	}
	return err
}

// openThat opens a descriptor of an existing shadow with its own flags. It returns nil if there is
// no shadow, or if it was killed with all others of the space.
func (s *shadows) openThat(pid wire.PID, flags int) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.of[pid]
	if sh == nil || !sh.alive() {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(sh.host, flags)
	if err != nil {
		return nil, fmt.Errorf("descriptor of shadow %d: %w", sh.number, err)
	}
	f := os.NewFile(uintptr(fd), "shadow")
	if !sh.alive() { // its number may already have passed to another process
		_ = f.Close()
		return nil, nil
	}
	return f, nil
}

// shadowed returns the process whose shadow has a number.
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
		case u := <-s.unseen:
			following.Go(func() { s.see(ctx, u) })
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// see enters a shadow that init may have made after its requester left, so that it ends.
func (s *shadows) see(ctx context.Context, u unseen) {
	f, err := s.open(ctx, u.pid, u.user, 0)
	if err != nil {
		s.log.Debug("shadow is left to the next daemon", "pid", u.pid, "err", err)
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
	s.places.Leave(sh.user, 1)
	s.drop(sh.name)
	err := unix.PidfdSendSignal(int(sh.file.Fd()), unix.SIGKILL, nil, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		s.log.Error("a shadow does not end", "pid", pid, "err", err)
	}
	_ = sh.file.Close()
}

// close closes the descriptors. It must be called after run.
func (s *shadows) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, sh := range s.of {
		_ = sh.file.Close()
		delete(s.of, pid)
	}
}
