package pid1

import "bproc/wire"

// marks are the numbers of the last signals that processes got, so that no process gets one twice:
// a daemon that does not know whether a signal has arrived sends it again. Numbers of signals grow
// over all processes of a boot of the front end, so the mark of a process that is gone does not
// apply to another process with its number. A space may live longer than the front end: with the
// first signal of another boot all marks are forgotten.
type marks struct {
	exists func(wire.PID) bool
	boot   uint64 // of the front end
	last   map[wire.PID]uint64
	crowd  int // number of marks at which those of processes that are gone are removed
}

// leastCrowd is the least value of crowd.
const leastCrowd = 1024

func (m *marks) init(exists func(wire.PID) bool) {
	m.exists, m.last, m.crowd = exists, make(map[wire.PID]uint64), leastCrowd
}

// had reports whether a process has got a signal. A signal with number 0 has no mark.
func (m *marks) had(sig *wire.InitSignal) bool {
	m.of(sig)
	return sig.Seq != 0 && sig.Seq <= m.last[sig.PID]
}

// of forgets the marks if a signal is of another boot.
func (m *marks) of(sig *wire.InitSignal) {
	if sig.Seq != 0 && sig.Boot != m.boot {
		m.boot = sig.Boot
		m.clear()
	}
}

func (m *marks) set(sig *wire.InitSignal) {
	if sig.Seq == 0 {
		return
	}
	m.of(sig)
	m.last[sig.PID] = sig.Seq
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
