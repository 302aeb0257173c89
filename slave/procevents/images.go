package procevents

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Images reads what processes show of the programs that they execute.
//
// A process can hold up a reader of its command line for as long as it likes: the kernel
// reads the process' memory, and a page of that may be one that a file system in user
// space, or the process itself (userfaultfd(2)), has to provide. So the reading is done by
// another goroutine and not waited for much longer than it takes. A process that is late
// shows a name only, which the kernel keeps, and so do others of its user for a while.
type Images struct {
	proc Proc

	mu   sync.Mutex
	late map[uint32]*late // by user
}

// late are readers that a user's processes have held up.
type late struct {
	readers int       // that still are
	until   time.Time // its processes are not asked before
}

// How long a reader is waited for, how long its user's processes are not asked after that,
// and how many of a user may hold up a reader at a time: each has a thread.
const (
	imageTime  = 250 * time.Millisecond
	latePause  = time.Minute
	lateReader = 4
)

// NewImages returns what reads the images of the processes in a procfs.
func NewImages(proc Proc) *Images { return &Images{proc: proc, late: make(map[uint32]*late)} }

// Image returns the image of a process; false if it is gone. A zombie has a name only.
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

// isLate reports whether the processes of a user are not asked now.
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

// held counts the readers that a user holds up.
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

// owner returns as whom a process runs; root for one whose memory is nobody's to see.
func (dir Proc) owner(pid wire.PID) (uint32, bool) {
	var st unix.Stat_t
	err := unix.Stat(string(dir)+"/"+pid.String(), &st)
	return st.Uid, err == nil
}

// named returns an image with a name only.
func (dir Proc) named(pid wire.PID) (Image, bool) {
	comm, ok := dir.read(pid, "comm")
	return Image{Comm: strings.TrimSuffix(string(comm), "\n")}, ok
}
