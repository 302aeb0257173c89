package procevents

import (
	"strings"
	"sync"
	"time"

	"bproc/wire"
)

// Images reads the images of processes.
//
// A process can hold up a reader of its command line for as long as it likes: the kernel reads the
// process's memory, and a file system in user space, or the process itself (userfaultfd(2)), may
// have to provide a page of it. So another goroutine reads, and Image waits for it only for a
// limited time. A process that is late has a name only, which the kernel keeps, and so have others
// of its user for a while: longer each time, since a machine without a processor to spare, or one
// that swaps, is late as well.
type Images struct {
	proc Proc

	mu   sync.Mutex
	late map[uint32]*late // by user
}

// late are the readers that a user's processes have held up.
type late struct {
	readers int           // still held up
	pause   time.Duration // doubles each time
	until   time.Time     // its processes are not read before
}

// How long a reader is waited for, how long its user's processes are not read after that, at least
// and at most, and how many readers a user may hold up at a time: each has a thread.
const (
	imageTime  = 250 * time.Millisecond
	firstPause = time.Second
	lastPause  = time.Minute
	lateReader = 4
)

// NewImages returns a reader of the images of the processes in a procfs.
func NewImages(proc Proc) *Images { return &Images{proc: proc, late: make(map[uint32]*late)} }

// Image returns the image of a process; false if it is gone or cannot be read. A zombie has a name only.
func (i *Images) Image(pid wire.PID) (Image, bool) {
	user, ok := i.proc.owner(pid)
	if !ok {
		return Image{}, false
	}
	if i.isLate(user) {
		return i.proc.named(pid)
	}
	type answer struct {
		image Image
		ok    bool
	}
	read := make(chan answer, 1)
	go func() {
		im, ok := i.proc.Image(pid)
		read <- answer{im, ok}
	}()
	timer := time.NewTimer(imageTime)
	defer timer.Stop()
	select {
	case a := <-read:
		return a.image, a.ok
	case <-timer.C:
	}
	i.held(user, 1)
	go func() {
		<-read
		i.held(user, -1)
	}()
	return i.proc.named(pid)
}

// isLate reports whether the processes of a user are not read now.
func (i *Images) isLate(user uint32) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := i.late[user]
	if l == nil {
		return false
	}
	now := time.Now()
	if l.readers == 0 && now.After(l.until.Add(lastPause)) {
		delete(i.late, user)
		return false
	}
	return l.readers >= lateReader || now.Before(l.until)
}

// held counts the readers that a user's processes hold up.
func (i *Images) held(user uint32, change int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := i.late[user]
	if l == nil {
		l = new(late)
		i.late[user] = l
	}
	if l.readers += change; change > 0 {
		l.pause = min(max(firstPause, 2*l.pause), lastPause)
		l.until = time.Now().Add(l.pause)
	}
}

// owner returns the real user of a process. Its directory belongs to the effective one, which is
// root for programs with the set-user-ID bit that any user can run.
func (dir Proc) owner(pid wire.PID) (uint32, bool) {
	status, err := dir.read(pid, "status")
	var p ProcessInfo
	return p.User.Real, err == nil && p.parseStatus(string(status))
}

// named returns the image of a process that is late.
func (dir Proc) named(pid wire.PID) (Image, bool) {
	comm, err := dir.read(pid, "comm")
	return Image{Comm: strings.TrimSuffix(string(comm), "\n"), Slow: true}, err == nil
}
