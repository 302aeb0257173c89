package supervise

import (
	"sync"

	"bproc/wire"
)

// Launched holds the processes that were started from the front end: of all numbers below those of
// nodes, theirs alone are in the space. The zero value is empty and ready. Any goroutine may use
// it.
type Launched struct {
	mu    sync.RWMutex
	table map[wire.PID]launch
}

// launch is what is known of a process that was started from the front end.
type launch struct {
	parent  wire.PID // on the front end
	sid     wire.PID // the session it began in
	started bool
	swept   bool // all processes were killed while it was entered
}

// Begin enters a process that is about to be started. It has a parent from its first moment. Until
// Started, calls about it go to the front end, which knows whether there will be a process.
func (l *Launched) Begin(pid, parent, sid wire.PID) { l.put(pid, launch{parent: parent, sid: sid}) }

// Started says that the process exists now.
func (l *Launched) Started(pid wire.PID) {
	l.change(pid, func(e *launch) { e.started = true })
}

// runs takes in that a process has made a call, and so exists: the report of that may still be on
// its way.
func (l *Launched) runs(pid wire.PID) {
	if e, ok := l.get(pid); ok && !e.started {
		l.Started(pid)
	}
}

// Set enters a process that exists and whose session is not known.
func (l *Launched) Set(pid, parent wire.PID) {
	l.put(pid, launch{parent: parent, started: true})
}

// SetParent sets the parent of a process whose parent has ended.
func (l *Launched) SetParent(pid, parent wire.PID) {
	l.change(pid, func(e *launch) { e.parent = parent })
}

// Sweep says that all processes are killed now.
func (l *Launched) Sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for pid, e := range l.table {
		e.swept = true
		l.table[pid] = e
	}
}

// Swept reports whether all processes were killed since a process was entered.
func (l *Launched) Swept(pid wire.PID) bool {
	e, _ := l.get(pid)
	return e.swept
}

// Has reports whether a process was started from the front end.
func (l *Launched) Has(pid wire.PID) bool {
	_, ok := l.get(pid)
	return ok
}

// Parent returns the parent on the front end of a process that was started from there; 0: it was
// not, or the parent is not known.
func (l *Launched) Parent(pid wire.PID) wire.PID {
	e, _ := l.get(pid)
	return e.parent
}

// Forget removes a process that has ended.
func (l *Launched) Forget(pid wire.PID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.table, pid)
}

func (l *Launched) put(pid wire.PID, e launch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.table == nil {
		l.table = make(map[wire.PID]launch)
	}
	l.table[pid] = e
}

func (l *Launched) change(pid wire.PID, f func(*launch)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.table[pid]; ok {
		f(&e)
		l.table[pid] = e
	}
}

func (l *Launched) get(pid wire.PID) (launch, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, ok := l.table[pid]
	return e, ok
}
