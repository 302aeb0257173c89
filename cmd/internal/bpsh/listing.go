package bpsh

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"bproc/internal/client"
	"bproc/internal/procstat"
)

// listing lists the processes of this machine and of the watched nodes. Concurrent callers of get
// share a listing that began after their calls.
type listing struct {
	mu    sync.Mutex
	began time.Time
	all   map[client.PID]listed
	afar  afar
}

// listed is a process of a listing.
type listed struct {
	parent client.PID
	start  uint64
	state  byte
	afar   bool // on another node
}

// still reports whether a process does not run: it is stopped or has ended.
func (p listed) still() bool { return strings.IndexByte("TtZX", p.state) >= 0 }

// get returns all visible processes. The caller must not change the map.
func (l *listing) get(ctx context.Context) map[client.PID]listed {
	asked := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(asked) {
		return l.all
	}
	l.began = time.Now()
	l.afar.refresh(ctx)
	l.all = maps.Clone(l.afar.all)
	if l.all == nil {
		l.all = map[client.PID]listed{}
	}
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

// of returns a process of a node, which may be this one, or false if there is none.
func (l *listing) of(ctx context.Context, pid client.PID, node client.NodeID) (listed, bool) {
	if p, ok := lookUp(pid); ok {
		return p, true
	}
	l.mu.Lock()
	l.afar.watch(node)
	l.mu.Unlock()
	p, ok := l.get(ctx)[pid]
	return p, ok
}

// last returns a process as of the last listing.
func (l *listing) last(pid client.PID) (listed, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.all[pid]
	return p, ok
}

// lookUp returns a process of this machine, or false if there is none.
func lookUp(pid client.PID) (listed, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return listed{}, false // it has ended
	}
	return parseStat(text)
}

// parseStat returns the process that a stat file describes.
func parseStat(text []byte) (listed, bool) {
	stat := procstat.Stat(text)
	parent, ok := stat.Int(procstat.Parent)
	start, ok2 := stat.Uint(procstat.Start)
	state := stat.Field(procstat.State)
	if !ok || !ok2 || len(state) != 1 {
		return listed{}, false
	}
	return listed{parent: client.PID(parent), start: start, state: state[0]}, true
}
