package pid1

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// sleeper is a stand-in: a process that shares init's memory and descriptors and sleeps until init
// has an errand for it (package standin). It stays in a table until it has ended, and so does its
// stack.
//
// The sleeper reads the fields up to stack while init does not write them. It has no Go runtime and
// stores no pointers.
type sleeper struct {
	number   int32  // clone3's set_tid points here
	tid      uint32 // the kernel stores the number here when the sleeper is born
	asked    uint32 // how many errands it was given; its set-up is the first
	answered uint32 // how many it has done; sleeperOver when it has ended
	errno    uint32 // of the last errand
	errand   errand
	cookie   uintptr
	pgid     uintptr // of the group that it anchors; 0: none
	setUp    []step
	fence    *fence // that it keeps, instead of doing errands; nil: none
	args     cloneArgs
	entry    entry
	stack    []byte

	// Init's own, guarded by standins.mu.
	parent  *sleeper // whose child it is; nil: it is a child of init
	session *session
	group   *group // that it anchors
	forkers *pool  // that it belongs to
	doomed  bool   // it is being ended

	over     chan struct{} // of a fencer: closed when it has ended
	shadowed wire.PID      // process elsewhere whose shadow it is; 0: none
}

// sleeperOver is a value of answered that no number of errands reaches.
const sleeperOver = ^uint32(0)

// errand is what a sleeper is asked to do: one of these.
type errand struct {
	plan  *plan    // start a process, as a child of init
	birth *sleeper // make another stand-in
	end   *sleeper // end a stand-in that is its child
	call  *step    // a system call
}

// live is the code of a sleeper from its birth, on its own stack. The rules are those for child. It
// does not return.
//
//go:nosplit
//go:norace
func (s *sleeper) live() {
	for i := 0; i < len(s.setUp); i++ {
		if errno := s.setUp[i].do(); errno != 0 {
			s.answer(1, errno)
			exit()
		}
	}
	s.answer(1, 0)
	if s.fence != nil {
		s.fence.keep()
	}
	for done := uint32(1); ; done++ {
		for load(&s.asked) == done {
			futexWait(&s.asked, done, futexPrivate)
		}
		s.answer(done+1, s.run())
	}
}

// run does an errand. When the clone of a plan returns, its process may be over and the plan's
// memory in other use.
//
//go:nosplit
//go:norace
func (s *sleeper) run() syscall.Errno {
	e := &s.errand
	switch {
	case e.plan != nil:
		p := e.plan
		if _, errno := rawClone(&p.args, &p.entry); errno != 0 {
			store(&p.word, wordErrno|uint32(errno))
			futexWake(&p.word, futexShared)
		}
	case e.birth != nil:
		if _, errno := rawClone(&e.birth.args, &e.birth.entry); errno != 0 {
			return syscall.Errno(errno)
		}
		return e.birth.join()
	case e.end != nil:
		tid, cookie := uintptr(e.end.tid), s.cookie
		_, _, _ = syscall.RawSyscall6(unix.SYS_KILL, tid, uintptr(unix.SIGKILL), 0, 0, 0, cookie)
		_, _, _ = syscall.RawSyscall6(unix.SYS_WAIT4, tid, 0, unix.WALL, 0, 0, 0)
	case e.call != nil:
		return e.call.do()
	}
	return 0
}

// join puts an anchor into its group. The anchor's maker does that, and need not wait for it to
// run.
//
//go:nosplit
//go:norace
func (s *sleeper) join() syscall.Errno {
	if s.pgid == 0 {
		return 0
	}
	_, _, errno := syscall.RawSyscall6(unix.SYS_SETPGID, uintptr(s.tid), s.pgid, 0, 0, 0, s.cookie)
	return errno
}

//go:nosplit
//go:norace
func (s *sleeper) answer(done uint32, errno syscall.Errno) {
	store(&s.errno, uint32(errno))
	store(&s.answered, done)
	futexWake(&s.answered, futexPrivate)
}

// pid returns the sleeper's number, 0 if it was not born.
func (s *sleeper) pid() wire.PID { return wire.PID(atomic.LoadUint32(&s.tid)) }
