package bpsh

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"bproc/internal/client"
	"bproc/internal/procstat"
)

// listing lists the processes of this machine. Those who ask at the same time share a listing
// that was begun after they have asked.
type listing struct {
	mu    sync.Mutex
	began time.Time
	all   map[client.PID]listed
}

// listed is a process of a listing.
type listed struct {
	parent client.PID
	start  uint64
	state  byte
}

// still reports whether a process seems to do nothing: it is stopped, or has ended.
func (p listed) still() bool { return strings.IndexByte("TtZX", p.state) >= 0 }

// get returns all processes that can be seen. The caller only reads it.
func (l *listing) get() map[client.PID]listed {
	asked := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(asked) {
		return l.all
	}
	l.began, l.all = time.Now(), map[client.PID]listed{}
	dir, err := os.Open("/proc")
	if err != nil {
		return l.all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.ParseInt(name, 10, 32); err == nil {
			if p, ok := lookUp(client.PID(pid)); ok {
				l.all[client.PID(pid)] = p
			}
		}
	}
	return l.all
}

// lookUp returns a process; false if there is none.
func lookUp(pid client.PID) (listed, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return listed{}, false // ended meanwhile
	}
	stat := procstat.Stat(text)
	parent, ok := stat.Int(procstat.Parent)
	start, ok2 := stat.Uint(procstat.Start)
	state := stat.Field(procstat.State)
	if !ok || !ok2 || len(state) != 1 {
		return listed{}, false
	}
	return listed{client.PID(parent), start, state[0]}, true
}
