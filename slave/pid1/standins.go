package pid1

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/slave/pid1/standin"
	"bproc/wire"
)

// initSession is init's own session and process group.
const initSession wire.PID = 1

// errLost is the error if a stand-in ended during a request. Everything can be tried again: another
// stand-in is made.
var errLost = errors.New("stand-in ended")

// standins is the table of the stand-ins, by which sessions and process groups of the front end
// exist in the space:
//
//	leader  of a session S: has the number S. The parent of the anchors.
//	anchor  of a group G: has the number G, unless a process has. Its parent is
//	        in its session and not in its group, so the group is not orphaned,
//	        and SIGTSTP, SIGTTIN and SIGTTOU stop its processes as they do on the
//	        front end (setpgid(2), is_current_pgrp_orphaned of kernel/exit.c).
//	forker  starts processes in session S, and in a cgroup if it was told to enter
//	        one. It is a child of init, and so are the processes that it starts
//	        (CLONE_PARENT, which init itself may not use: copy_process of
//	        kernel/fork.c). Its number is between the zones.
//	shadow  of a process elsewhere: descriptors of it stand for that process. Its
//	        number is between the zones.
//	fencer  keeps the numbers of the space within their block (fence). Its
//	        number is between the zones.
//
// Init is the leader of its own session, and also the forker where no cgroup is wanted.
//
// Locks: making is held while stand-ins are made and ended, which can need the reaper's help;
// inside it mu, which guards the tables and is never held across anything that can block.
type standins struct {
	log    *slog.Logger
	cookie uintptr
	born   func()   // tells the reaper that there is a child
	limit  func()   // undoes changes of the limit of process numbers
	zero   *[2]byte // "0", for cgroup.procs
	name   *[16]byte
	waits  waits // for words
	vforks waits // for processes without a forker

	making sync.Mutex
	guard  wire.PID // where the search for a number between the zones goes on

	mu       sync.Mutex
	numbers  map[wire.PID]*sleeper
	sessions map[wire.PID]*session
	groups   map[wire.PID]*group
	shadows  map[wire.PID]*sleeper // by the process elsewhere
	killed   time.Time             // when all processes were killed
	crowded  chan struct{}         // signals that there are more than maxStandins
}

// session is a session in which init can start processes.
type session struct {
	id      wire.PID
	leader  *sleeper // nil: init
	forkers map[cgroupID]*pool
	uses    int       // launches under way
	used    time.Time // by the last launch
}

// group is a process group that is kept from being orphaned.
type group struct {
	id      wire.PID
	session *session
	anchor  *sleeper
	uses    int
	used    time.Time
}

func (t *standins) init(log *slog.Logger, cookie uint64, born, limit func()) {
	t.log, t.cookie, t.born, t.limit = log, uintptr(cookie), born, limit
	t.zero, t.name = &[2]byte{'0'}, commName(standin.Name)
	t.waits, t.vforks = make(waits, waitingThreads), make(waits, vforkThreads)
	t.guard = pidmap.Node
	t.numbers = make(map[wire.PID]*sleeper)
	t.crowded = make(chan struct{}, 1)
	t.resetLocked()
}

func (t *standins) resetLocked() {
	t.sessions = map[wire.PID]*session{initSession: newSession(initSession, nil)}
	t.groups = make(map[wire.PID]*group)
	t.shadows = make(map[wire.PID]*sleeper)
}

func newSession(id wire.PID, leader *sleeper) *session {
	return &session{id: id, leader: leader, forkers: make(map[cgroupID]*pool)}
}

// usedLocked reports whether a launch under way needs a stand-in: the anchor of its group, or
// the leader or a forker of its session.
func (s *sleeper) usedLocked() bool {
	if s.group != nil {
		return s.group.uses > 0
	}
	return s.session.uses > 0
}

// at returns the stand-in that has a number.
func (t *standins) at(pid wire.PID) *sleeper {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.numbers[pid]; s != nil && s.pid() == pid {
		return s
	}
	return nil
}

// birthTime bounds the time from when a process can be seen until the kernel has told its number.
const birthTime = time.Second

// has reports whether a process is a stand-in. If a stand-in is just being made with that number, it waits: the
// kernel tells the number a moment after the process can be seen, or refuses it because another process has it.
func (t *standins) has(pid wire.PID) bool {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		t.mu.Lock()
		s := t.numbers[pid]
		t.mu.Unlock()
		if s == nil || s.pid() != 0 || time.Since(begin) > birthTime {
			return s != nil && s.pid() == pid
		}
	}
}

// give gives an errand to a stand-in that has none, and returns the number to wait for. It reports
// false if the stand-in has ended.
func (t *standins) give(s *sleeper, e errand) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if atomic.LoadUint32(&s.answered) == sleeperOver {
		return 0, false
	}
	s.errand = e
	n := atomic.AddUint32(&s.asked, 1)
	futexWake(&s.asked, futexPrivate)
	return n, true
}

// ask gives an errand to a stand-in and waits until it is done.
func (t *standins) ask(s *sleeper, e errand) (bool, unix.Errno) {
	n, ok := t.give(s, e)
	if !ok {
		return false, 0
	}
	return t.await(s, n)
}

// await waits until a stand-in has done so many errands. It reports false if the stand-in has ended
// before. It also returns the error of the last errand done.
func (t *standins) await(s *sleeper, done uint32) (bool, unix.Errno) {
	got := t.waits.until(&s.answered, futexPrivate, func(got uint32) bool { return got == done || got == sleeperOver })
	return got == done, unix.Errno(atomic.LoadUint32(&s.errno))
}

// awaitEnd waits until a stand-in has ended and its number is free.
func (t *standins) awaitEnd(s *sleeper) { t.await(s, sleeperOver) }

// ended removes a stand-in that has ended. Stand-ins that depended on it end, too.
func (t *standins) ended(s *sleeper) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if atomic.SwapUint32(&s.answered, sleeperOver) == sleeperOver {
		return
	}
	delete(t.numbers, wire.PID(s.number))
	t.forgetLocked(s)
	if s.over != nil && s.pid() != 0 {
		close(s.over)
	}
	futexWake(&s.answered, futexPrivate)
	if p := s.errand.plan; p != nil && atomic.CompareAndSwapUint32(&p.word, wordPending, wordLost) {
		futexWake(&p.word, futexShared)
	}
}

// forgetLocked makes a stand-in impossible to find.
func (t *standins) forgetLocked(s *sleeper) {
	switch {
	case s.fence != nil: // it is in no other table
	case s.shadowed != 0:
		if t.shadows[s.shadowed] == s {
			delete(t.shadows, s.shadowed)
		}
	case s.group != nil:
		if t.groups[s.group.id] == s.group {
			delete(t.groups, s.group.id)
		}
	case s.forkers != nil:
		s.forkers.forgetLocked(s)
	case s.session != nil && t.sessions[s.session.id] == s.session:
		delete(t.sessions, s.session.id)
		for _, other := range t.numbers {
			if other.session == s.session && other != s {
				t.doomLocked(other)
			}
		}
	}
}

// doomLocked ends a stand-in without waiting for its end.
func (t *standins) doomLocked(s *sleeper) {
	s.doomed = true
	t.forgetLocked(s)
	if pid := s.pid(); pid != 0 {
		_ = t.kill(pid) // it may be a zombie already
	}
}

// kill kills a stand-in of the table: no other process has its number.
func (t *standins) kill(pid wire.PID) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGKILL), 0, 0, 0, t.cookie)
	if errno != 0 {
		return errno
	}
	return nil
}

// killAll calls kill, which kills all processes of the space, and forgets all stand-ins. A stand-in
// that was not born by then is ended by the routine that makes it.
func (t *standins) killAll(kill func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.numbers {
		s.doomed = true
		t.forgetLocked(s)
	}
	t.resetLocked()
	t.killed = time.Now()
	return kill()
}
