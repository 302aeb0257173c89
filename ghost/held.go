package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// held is a ghost that a shard is the tracer of. Its owner is the shard.
type held struct {
	pid      wire.PID
	stopped  bool // in a group stop: its parent sees it as T
	killed   bool // it got SIGKILL and is held in its exit
	stopping bool // one of the terminal's stop signals is on its way: it may be dropped
	asked    bool // it is to end: GhostExit has come
}

// ourMark tells a signal of the keeper from everybody else's: the value of a
// queued signal that nobody can guess.
type ourMark uint64

// own reports whether the keeper sent a signal.
func (m ourMark) own(info *siginfo) bool {
	return info.code() == siQueue && info.value() == uint64(m)
}

// send sends a ghost a signal that own knows again.
func (m ourMark) send(pid wire.PID, sig unix.Signal) error {
	return queueSignal(pid, sig, uint64(m))
}
