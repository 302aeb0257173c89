package supervise

import (
	"sync"

	"bproc/wire"
)

// Parents holds the parents of the processes that were started from the front
// end. The zero value is empty and ready. Any goroutine may use it.
type Parents struct {
	mu    sync.RWMutex
	table map[wire.PID]wire.PID
}

// Set sets the parent of a process.
func (p *Parents) Set(pid, parent wire.PID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table == nil {
		p.table = make(map[wire.PID]wire.PID)
	}
	p.table[pid] = parent
}

// Forget is for a process that has ended.
func (p *Parents) Forget(pid wire.PID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.table, pid)
}

// get returns the parent of a process that was started from the front end.
func (p *Parents) get(pid wire.PID) (parent wire.PID, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	parent, ok = p.table[pid]
	return parent, ok
}
