package pid1

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Values of a plan's word, besides the number of its process, which the kernel stores there when
// the process is born, and 0, which the kernel stores when the process has executed or ended.
const (
	wordPending uint32 = 1 << 31 // the forker has not begun
	wordLost    uint32 = 1 << 30 // the forker ended before it began
	wordErrno   uint32 = 1 << 29 // with an error number: there was no process
)

// forkerFlags are as for a child of init, but the forker's parent becomes the child's, too, and the
// kernel tells init of the execve or of the end.
const forkerFlags = cloneFlags | unix.CLONE_PARENT | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID

// forkersAtOnce is how many forkers of one pool are made without delay. More are made, one after
// the other, if none has become idle for forkerPatience: only launches that are held up keep them
// busy for that long.
const (
	forkersAtOnce  = 4
	forkerPatience = 10 * time.Millisecond
)

// cgroupID names a cgroup by its cgroup.procs file; the zero value is init's own.
type cgroupID struct{ dev, ino uint64 }

// tasks is the cgroup.procs file of the cgroup in which a process begins, or on cgroup version 1
// the tasks file.
type tasks struct {
	fd int // -1: init's own cgroup
	id cgroupID
}

func newTasks(fd int) (tasks, error) {
	if fd < 0 {
		return tasks{fd: -1}, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return tasks{}, err
	}
	return tasks{fd: fd, id: cgroupID{dev: uint64(st.Dev), ino: st.Ino}}, nil //nolint:unconvert // not 64 bits everywhere
}

// fork runs a plan in a session and a cgroup. It reports whether there was a process. The error is
// errLost, or comes from making a forker.
func (t *standins) fork(sess *session, in tasks, p *plan) (born bool, r result, err error) {
	pool := t.pool(sess, in.id)
	f, err := t.takeForker(sess, pool, in)
	if err != nil {
		return false, result{}, err
	}
	defer t.putForker(pool, f)
	p.word = wordPending
	p.args.flags, p.args.exitSignal = forkerFlags, 0
	p.args.parentTID, p.args.childTID = address(&p.word), address(&p.word)
	if _, ok := t.give(f, errand{plan: p}); !ok {
		return false, result{}, errLost
	}
	word := t.waits.until(&p.word, futexShared, func(word uint32) bool {
		return word == 0 || word == wordLost || word&wordErrno != 0
	})
	runtime.KeepAlive(p)
	switch {
	case word == wordLost:
		return false, result{}, errLost
	case word != 0:
		return false, result{wire.StageSpawn, unix.Errno(word &^ wordErrno)}, nil
	}
	return true, p.result(), nil
}

// pool returns the forkers of a session and a cgroup.
func (t *standins) pool(sess *session, id cgroupID) *pool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := sess.forkers[id]
	if p == nil {
		p = newPool()
		sess.forkers[id] = p
	}
	return p
}

// takeForker returns an idle forker, or a new one.
func (t *standins) takeForker(sess *session, p *pool, in tasks) (*sleeper, error) {
	for {
		f, more := t.tryForker(p)
		switch {
		case f != nil:
			return f, nil
		case more:
			return t.newForker(sess, p, in)
		}
		select {
		case <-p.freed:
		case <-time.After(forkerPatience):
		}
	}
}

// tryForker returns an idle forker, or reports whether to make one.
func (t *standins) tryForker(p *pool) (f *sleeper, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f = p.takeLocked(); f != nil {
		return f, false
	}
	return nil, p.growLocked(time.Now())
}

// newForker makes a forker and has it enter its cgroup. Entering takes as long as an RCU grace
// period, so it is not done for each process.
func (t *standins) newForker(sess *session, p *pool, in tasks) (*sleeper, error) {
	t.making.Lock()
	f, err := t.forker(sess, p)
	t.making.Unlock()
	t.mu.Lock()
	p.making--
	if err == nil && !f.doomed {
		p.members[f] = true
	}
	t.mu.Unlock()
	if err != nil || in.fd < 0 {
		return f, err
	}
	enter := t.step(unix.SYS_WRITE, uintptr(in.fd), uintptr(unsafe.Pointer(t.zero)), 1)
	done, errno := t.ask(f, errand{call: &enter})
	switch {
	case !done:
		return nil, errLost
	case errno != 0:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.doomLocked(f)
		return nil, errno
	}
	return f, nil
}

func (t *standins) putForker(p *pool, f *sleeper) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.putLocked(f)
}
