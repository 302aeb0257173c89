package space

import (
	"sync"

	"bproc/wire"
)

// parents holds the parents of the processes that were started from the front
// end: their kernel says init.
type parents struct {
	mu    sync.RWMutex
	table map[wire.PID]wire.PID
}

func (p *parents) init() { p.table = make(map[wire.PID]wire.PID) }

func (p *parents) set(pid, parent wire.PID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.table[pid] = parent
}

func (p *parents) forget(pid wire.PID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.table, pid)
}

func (p *parents) get(pid wire.PID) (parent wire.PID, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	parent, ok = p.table[pid]
	return parent, ok
}
