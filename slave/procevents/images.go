package procevents

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Images reads the images of processes.
//
// A process can hold up a reader of its command line for as long as it likes: the kernel reads the
// process's memory, and a file system in user space, or the process itself (userfaultfd(2)), may
// have to provide a page of it. So another goroutine reads, and Image waits for it only for a
// limited time. A process that is late shows a name only, which the kernel keeps, and so do others
// of its user for a while.
type Images struct {
	proc Proc

	mu   sync.Mutex
	late map[uint32]*late // by user
}

// late are the readers that a user's processes have held up.
type late struct {
	readers int       // still held up
	until   time.Time // its processes are not read before
}

// How long a reader is waited for, how long its user's processes are not read after that, and how
// many readers a user may hold up at a time: each has a thread.
const (
	imageTime  = 250 * time.Millisecond
	latePause  = time.Minute
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
	if l.readers == 0 && time.Now().After(l.until) {
		delete(i.late, user)
		return false
	}
	return l.readers >= lateReader || time.Now().Before(l.until)
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
		l.until = time.Now().Add(latePause)
	}
}

// owner returns the user of a process; root if the process is not dumpable (proc(5)).
func (dir Proc) owner(pid wire.PID) (uint32, bool) {
	var st unix.Stat_t
	err := unix.Stat(string(dir)+"/"+pid.String(), &st)
	return st.Uid, err == nil
}

// named returns an image with a name only.
func (dir Proc) named(pid wire.PID) (Image, bool) {
	comm, err := dir.read(pid, "comm")
	return Image{Comm: strings.TrimSuffix(string(comm), "\n")}, err == nil
}
