package status

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// locked are the processes whose memory cannot be read, because something holds its lock or a page
// does not arrive. A read of cmdline or environ waits for that in the kernel, and only a signal that
// kills the reader ends the wait. The read is left alone then, and no other one of this process is
// begun before it returns.
type locked struct {
	patience time.Duration // a read may take between once and twice this time
	log      *slog.Logger

	mu    sync.Mutex
	left  map[owned]int  // reads that were left alone and have not returned
	users map[uint32]int // the same by user
	all   int
}

// owned is a process with its user.
type owned struct {
	pid   wire.PID
	start uint64
	uid   uint32
}

// Bounds of reads that are left alone. When one is reached, no memory is read, or none of that user's
// processes. Reads that are under way at that moment can still be left alone.
const (
	maxLeft       = 64
	maxLeftOfUser = 8
)

// errLocked means that the memory of a process cannot be read now.
var errLocked = errors.New("its memory is locked")

func newLocked(log *slog.Logger) *locked {
	return &locked{patience: 200 * time.Millisecond, log: log, left: map[owned]int{}, users: map[uint32]int{}}
}

// has reports whether the memory of a process is not to be read now.
func (l *locked) has(p owned) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all > 0 && (l.left[p] > 0 || l.all >= maxLeft || l.users[p.uid] >= maxLeftOfUser)
}

// hasFile reports whether a file in the directory of a process cannot be read, because a read of the
// process's memory was left alone.
func (l *locked) hasFile(pid wire.PID, path string) bool {
	if !memoryNames[filepath.Base(path)] {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.left {
		if p.pid == pid {
			return true
		}
	}
	return false
}

// add counts the reads of a process that are left alone.
func (l *locked) add(p owned, reads int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all += reads
	if l.left[p] += reads; l.left[p] == 0 {
		delete(l.left, p)
	}
	if l.users[p.uid] += reads; l.users[p.uid] == 0 {
		delete(l.users, p.uid)
	}
}

// memoryFile is a file of processes that shows their memory.
type memoryFile struct {
	name   string
	reader Identity

	// before reports whether the file of a process is to be read. It reads other files.
	before func(*reader, *subject) bool
	// after takes the text, or an error. That is errLocked if the file cannot be read now.
	after func(s *subject, text []byte, err error)
}

// read reads a file of some processes.
func (l *locked) read(f memoryFile, some []subject) error {
	for len(some) > 0 {
		t := &turn{locked: l, file: f, some: some, at: -1}
		n, err := t.wait(f.reader.start(t.run))
		if err != nil {
			return err
		}
		some = some[n:]
	}
	return nil
}

// turn is the reading of a file of some processes by one goroutine on its own thread. Another
// goroutine waits for it. If it has waited too long it takes the processes back, and the first one
// ends when its read returns.
type turn struct {
	locked *locked
	file   memoryFile

	mu   sync.Mutex
	some []subject // the reader's, also without mu, unless the reader is in a read or was left alone
	at   int       // index of the process in whose file the reader reads; -1: none
	left bool
	tid  int // of the reader
}

// run is the reader.
func (t *turn) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.mu.Lock()
	t.tid = unix.Gettid()
	t.mu.Unlock()
	r := newReader(-1)
	for i := range t.some {
		s := &t.some[i]
		if !t.file.before(r, s) {
			continue
		}
		p := s.owned()
		if s.dir < 0 || t.locked.has(p) {
			t.file.after(s, nil, errLocked)
			continue
		}
		r.dir = s.dir
		t.begin(i)
		text, err := r.file(nil, t.file.name)
		if !t.end() {
			t.locked.add(p, -1)
			return unix.Close(r.dir)
		}
		t.file.after(s, text, err)
	}
	return nil
}

func (t *turn) begin(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = i
}

// end ends a read, and reports whether the reader still has the processes.
func (t *turn) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = -1
	return !t.left
}

// wait waits for the reader, and returns the number of processes that are done.
func (t *turn) wait(done <-chan error) (int, error) {
	tick := time.NewTicker(t.locked.patience)
	defer tick.Stop()
	for last := -1; ; {
		select {
		case err := <-done:
			return len(t.some), err
		case <-tick.C:
			before := last
			if last = t.check(before); last >= 0 && last == before {
				return last + 1, nil
			}
		}
	}
}

// check returns the index of the process in whose file the reader reads; -1: none. If that is the
// same as before and the reader waits, check leaves it alone.
func (t *turn) check(before int) (at int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at < 0 || t.at != before {
		return t.at
	}
	if runs(t.tid) {
		return -1 // the machine is busy
	}
	s := &t.some[t.at]
	t.left = true
	t.locked.add(s.owned(), 1)
	t.locked.log.Warn("the memory of a process is locked", "pid", s.pid)
	s.dir = -1 // the reader closes it
	t.file.after(s, nil, errLocked)
	return t.at
}

// runs reports whether a thread of this program runs, or would if there were a processor for it.
func runs(tid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	return err == nil && string(procstat.Stat(stat).Field(procstat.State)) == "R"
}
