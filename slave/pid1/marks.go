package pid1

import (
	"bproc/internal/unacked"
	"bproc/wire"
)

// marks are the numbers of the last signals that processes got, so that no process gets one twice:
// a daemon that does not know whether a signal has arrived sends it again. The marks of processes that
// are gone are forgotten when there are many.
type marks struct {
	unacked.Marks

	exists func(wire.PID) bool
	crowd  int // number of marks at which those of processes that are gone are removed
}

// leastCrowd is the least value of crowd.
const leastCrowd = 1024

func (m *marks) init(exists func(wire.PID) bool) { m.exists, m.crowd = exists, leastCrowd }

// had reports whether a process has got a signal.
func (m *marks) had(sig *wire.InitSignal) bool { return m.Had(sig.PID, sig.Boot, sig.Seq) }

func (m *marks) set(sig *wire.InitSignal) {
	m.Set(sig.PID, sig.Boot, sig.Seq)
	if m.Len() >= m.crowd {
		m.Keep(m.exists)
		m.crowd = max(leastCrowd, 2*m.Len())
	}
}
