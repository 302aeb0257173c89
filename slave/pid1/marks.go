package pid1

import "bproc/wire"

// marks are the numbers of the last signals that processes got, so that none gets one
// twice: who does not know whether a signal has arrived sends it again. Numbers of
// signals grow over all processes, so the mark of a process that is no more is none
// for another one with its number.
type marks struct {
	exists func(wire.PID) bool
	last   map[wire.PID]uint64
	crowd  int // with so many, those of processes that are no more are looked for
}

// leastCrowd is the least number of marks that are looked through.
const leastCrowd = 1024

func (m *marks) init(exists func(wire.PID) bool) {
	m.exists, m.last, m.crowd = exists, make(map[wire.PID]uint64), leastCrowd
}

// had reports whether a process got the signal with a number; 0: it has none.
func (m *marks) had(pid wire.PID, seq uint64) bool { return seq != 0 && seq <= m.last[pid] }

func (m *marks) set(pid wire.PID, seq uint64) {
	if seq == 0 {
		return
	}
	m.last[pid] = seq
	if len(m.last) < m.crowd {
		return
	}
	for pid := range m.last {
		if !m.exists(pid) {
			delete(m.last, pid)
		}
	}
	m.crowd = max(leastCrowd, 2*len(m.last))
}

func (m *marks) forget(pid wire.PID) { delete(m.last, pid) }

func (m *marks) clear() { clear(m.last) }
