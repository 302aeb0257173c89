package pid1

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

const (
	// sleeperFlags: a stand-in shares the memory of init, and also its descriptors, so that it
	// holds none itself and its children begin with those that init has then.
	sleeperFlags = unix.CLONE_VM | unix.CLONE_FILES | unix.CLONE_CLEAR_SIGHAND | unix.CLONE_PARENT_SETTID
	sleeperStack = 4 << 10

	guardAttempts = 64

	// How long to wait for the end of killed processes that still hold a number, and how long after
	// a kill there may be such processes.
	dyingPatience = 2 * time.Second
	dyingPause    = 2 * time.Millisecond
)

// leader makes the leader of a session.
func (t *standins) leader(sid wire.PID) (*session, error) {
	s := t.newSleeper(sid)
	s.session = newSession(sid, s)
	s.setUp = []step{
		t.step(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(t.name))),
		t.step(unix.SYS_SETSID),
	}
	if err := t.bear(s); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.doomed {
		return nil, errLost
	}
	t.sessions[sid] = s.session
	return s.session, nil
}

// anchor makes the anchor of a group, with the group's number or, if a process
// has that, with another.
func (t *standins) anchor(sess *session, pgid wire.PID, led bool) (*group, error) {
	s := t.newSleeper(pgid)
	s.session, s.parent = sess, sess.leader
	s.group = &group{id: pgid, session: sess, anchor: s}
	s.pgid, s.setUp = uintptr(pgid), t.named(sess)
	err := error(unix.EEXIST)
	if !led {
		err = t.bear(s)
	}
	if errors.Is(err, unix.EEXIST) {
		err = t.bearBetweenZones(s)
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.doomed {
		return nil, errLost
	}
	t.groups[pgid] = s.group
	return s.group, nil
}

// forker makes a forker.
func (t *standins) forker(sess *session, p *pool) (*sleeper, error) {
	s := t.newSleeper(0)
	s.session, s.forkers = sess, p
	s.setUp = t.named(sess)
	if err := t.bearBetweenZones(s); err != nil {
		return nil, err
	}
	return s, nil
}

// named returns the step that sets the name. Stand-ins that a leader makes have the name from it.
func (t *standins) named(sess *session) []step {
	if sess.leader != nil {
		return nil
	}
	return []step{t.step(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(t.name)))}
}

// step returns a system call that carries the cookie.
func (t *standins) step(trap uintptr, args ...uintptr) step {
	s := step{trap: trap}
	copy(s.args[:], args)
	s.args[cookieArg] = t.cookie
	return s
}

func (t *standins) newSleeper(number wire.PID) *sleeper {
	s := &sleeper{number: int32(number), asked: 1, cookie: t.cookie, stack: make([]byte, sleeperStack)}
	s.entry.sleeper = s
	return s
}

// bearBetweenZones gives a stand-in a number that the front end's processes do
// not have.
func (t *standins) bearBetweenZones(s *sleeper) error {
	for range guardAttempts {
		if t.guard--; t.guard < pidmap.LocalEnd {
			t.guard = pidmap.Node - 1
		}
		s.number = int32(t.guard)
		if err := t.bear(s); !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return unix.EAGAIN
}

// bear makes a stand-in with a number that no other has, and waits until it sleeps. The error is an
// [unix.Errno] or errLost.
func (t *standins) bear(s *sleeper) error {
	if !t.register(s) {
		return unix.EEXIST
	}
	s.args = cloneArgs{flags: sleeperFlags, exitSignal: uint64(unix.SIGCHLD), parentTID: address(&s.tid)}
	s.args.use(s.stack, &s.number)
	if s.forkers != nil && s.session.leader != nil {
		s.args.flags |= unix.CLONE_PARENT
		s.args.exitSignal = 0 // the maker's is used
	}
	errno, alive := t.clone(s)
	born := s.pid() != 0
	if !born {
		t.ended(s)
	} else {
		t.born()
	}
	if born && alive && errno == 0 && len(s.setUp) > 0 {
		alive, errno = t.await(s, 1)
	}
	switch {
	case !alive:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.doomLocked(s)
		return errLost
	case born && errno != 0:
		t.end(s)
		return errno
	case errno != 0:
		return errno
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.doomed {
		t.doomLocked(s)
		return errLost
	}
	return nil
}

// register enters a stand-in that is about to be born.
func (t *standins) register(s *sleeper) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := wire.PID(s.number)
	if t.numbers[number] != nil {
		return false
	}
	s.answered, s.tid = 0, 0
	t.numbers[number] = s
	if len(t.numbers)-len(t.shadows) > maxStandins {
		t.crowdedLocked()
	}
	return true
}

// clone has a stand-in made by the leader of its session, or makes it. It reports false if the
// leader ended meanwhile.
func (t *standins) clone(s *sleeper) (unix.Errno, bool) {
	limited := false
	for begin := time.Now(); ; time.Sleep(dyingPause) {
		errno, alive := unix.Errno(0), true
		if leader := s.session.leader; leader != nil && leader != s {
			alive, errno = t.ask(leader, errand{birth: s})
		} else {
			errno = unix.Errno(clone(&masks{all: ^uint64(0)}, &s.args, &s.entry))
			if errno == 0 {
				errno = s.join()
			}
		}
		switch {
		case errno == unix.EINVAL && !limited:
			t.limit()
			limited = true
		case errno != unix.EEXIST || !t.dying(begin):
			return errno, alive
		}
	}
}

// dying reports whether a number in use may soon be free.
func (t *standins) dying(begin time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	return now.Sub(t.killed) < dyingPatience && now.Sub(begin) < dyingPatience
}

// end ends a stand-in and waits until its number is free.
func (t *standins) end(s *sleeper) {
	t.mu.Lock()
	t.takeOutLocked(s)
	t.mu.Unlock()
	t.finish(s)
}

// endUnused is end for a stand-in that no launch uses. It reports false if one does: a launch may
// have found it since the caller looked.
func (t *standins) endUnused(s *sleeper) bool {
	t.mu.Lock()
	used := s.usedLocked()
	if !used {
		t.takeOutLocked(s)
	}
	t.mu.Unlock()
	if used {
		return false
	}
	t.finish(s)
	return true
}

// takeOutLocked keeps launches from finding a stand-in that is about to be ended.
func (t *standins) takeOutLocked(s *sleeper) {
	s.doomed = true
	t.forgetLocked(s)
}

// finish ends a stand-in that has been taken out.
func (t *standins) finish(s *sleeper) {
	if s.parent != nil {
		if done, _ := t.ask(s.parent, errand{end: s}); done {
			t.ended(s)
			return
		}
		// The stand-in is a child of init now.
	}
	t.mu.Lock()
	t.doomLocked(s)
	t.mu.Unlock()
	t.awaitEnd(s)
}
