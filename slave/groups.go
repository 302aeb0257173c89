package slave

import (
	"sync"
	"sync/atomic"
	"time"

	"bproc/pidmap"
	"bproc/slave/procevents"
	"bproc/wire"
)

// groups are the process groups that processes from the front end make for themselves. The parent
// of such a process is on the front end, so until it has an anchor the group is orphaned here, and
// stops of a terminal do not stop it (setpgid(2)).
type groups struct {
	count atomic.Int32

	mu  sync.Mutex
	new map[wire.PID]time.Time // process that may have made one, and the time of its call
}

// settleTime is how long after a call its group counts as new.
const settleTime = time.Second

// begin records a process that is about to join or make a group.
func (g *groups) begin(pid wire.PID) {
	if pid >= pidmap.Node {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.new == nil {
		g.new = make(map[wire.PID]time.Time)
	}
	g.expireLocked()
	g.new[pid] = time.Now()
	g.count.Store(int32(len(g.new)))
}

// unsettled reports whether there may be new groups.
func (g *groups) unsettled() bool { return g.count.Load() > 0 }

// settled removes a group that has an anchor.
func (g *groups) settled(pid wire.PID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.new, pid)
	g.count.Store(int32(len(g.new)))
}

// expireLocked forgets calls older than settleTime.
func (g *groups) expireLocked() {
	for pid, begun := range g.new {
		if time.Since(begun) >= settleTime {
			delete(g.new, pid)
		}
	}
	g.count.Store(int32(len(g.new)))
}

// madeGroup is a group that its leader has made.
type madeGroup struct{ sid, pgid wire.PID }

// made returns the new groups.
func (g *groups) made(process func(wire.PID) (procevents.ProcessInfo, error)) []madeGroup {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expireLocked()
	var all []madeGroup
	for pid := range g.new {
		if p, err := process(pid); err == nil && leads(&p) {
			all = append(all, madeGroup{p.SID, p.PGID})
		}
	}
	return all
}

// leads reports whether a process from the front end leads a group of a session that
// is not its own.
func leads(p *procevents.ProcessInfo) bool {
	return p.PID < pidmap.Node && p.PGID == p.PID && p.SID != p.PID
}
