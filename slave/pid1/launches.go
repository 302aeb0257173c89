package pid1

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// maxHeld bounds the signals held for a process that does not exist yet, besides one of each standard signal, and the
// statuses of a process whose launch is not answered yet.
const maxHeld = 64

// launching is a launch under way.
type launching struct {
	ended    chan struct{} // closed when the process has ended and is reaped
	once     sync.Once     // an earlier process of the same number can end, too
	statuses []waited
	signals  [][]byte // siginfo
	killed   bool     // all processes were killed meanwhile
	earlier  bool     // a launched process had the number, and its end was not taken from the kernel
}

// launches is the table of launches under way, and of the signals that processes got.
type launches struct {
	mu    sync.Mutex
	table map[wire.PID]*launching
	marks marks
}

func (l *launches) init(exists func(wire.PID) bool) {
	l.table = make(map[wire.PID]*launching)
	l.marks.init(exists)
}

// begin enters a launch, unless one of the same number is under way.
func (l *launches) begin(pid wire.PID) (*launching, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.table[pid] != nil {
		return nil, false
	}
	n := &launching{ended: make(chan struct{})}
	l.table[pid] = n
	l.marks.Forget(pid)
	return n, true
}

// end removes a launch. What was held for it does not change afterwards.
func (l *launches) end(pid wire.PID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.table, pid)
}

// pids returns the numbers of the launches under way.
func (l *launches) pids() []wire.PID {
	l.mu.Lock()
	defer l.mu.Unlock()
	pids := make([]wire.PID, 0, len(l.table))
	for pid := range l.table {
		pids = append(pids, pid)
	}
	return pids
}

// holdStatus holds a status until the launch is answered. It reports false if no launch of that
// number is under way.
func (l *launches) holdStatus(pid wire.PID, status waited) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.table[pid]
	if n == nil {
		return false
	}
	if len(n.statuses) == maxHeld {
		n.statuses = slices.Delete(n.statuses, 0, 1)
	}
	n.statuses = append(n.statuses, status)
	if over(status.is) {
		n.once.Do(func() { close(n.ended) })
	}
	return true
}

// signal calls send. If there is no such process yet, it holds the signal and returns the launch.
// It passes over a signal that the process has had.
func (l *launches) signal(m *wire.InitSignal, send func() error) (early *launching, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marks.had(m) {
		return nil, nil
	}
	err = send()
	if n := l.table[m.PID]; errors.Is(err, unix.ESRCH) && n != nil && n.hold(m.Info) {
		early, err = n, nil
	}
	if !errors.Is(err, unix.ESRCH) {
		l.marks.set(m)
	}
	return early, err
}

// realTime is the first signal of which more than one can be pending (signal(7)).
const realTime = 32

// hold holds a signal, and reports false if there is no room. As in the kernel, a standard signal that is pending already
// is not held a second time.
func (n *launching) hold(info []byte) bool {
	sig := signalOf(info)
	switch {
	case sig < realTime:
		if slices.ContainsFunc(n.signals, func(held []byte) bool { return signalOf(held) == sig }) {
			return true
		}
	case len(n.signals) >= maxHeld:
		return false
	}
	n.signals = append(n.signals, info)
	return true
}

// kill calls send, unless the launch is over: the routine that answers it delivers what was held.
func (l *launches) kill(pid wire.PID, n *launching, send func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.table[pid] != n {
		return nil
	}
	return send()
}

// unmark forgets the signals of a process that has ended.
func (l *launches) unmark(pid wire.PID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks.Forget(pid)
}

// killAll marks all launches under way, calls send, and returns the launches: the process of one
// may not have existed when send killed all others.
func (l *launches) killAll(send func() error) (map[wire.PID]*launching, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.table {
		n.killed = true
	}
	l.marks.Clear()
	return maps.Clone(l.table), send()
}
