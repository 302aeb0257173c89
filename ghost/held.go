package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// held is a ghost that a shard is the tracer of. Its owner is the shard.
type held struct {
	pid     wire.PID
	stopped bool // in a group stop: its parent sees it as T
	killed  bool // it got SIGKILL and is held in its exit
	slipped bool // it is held as a zombie, see await
	asked   bool // it is to end: GhostExit has come
	zombie  bool // it is to stay a zombie then

	user  wire.IDs
	group wire.IDs
	root  bool        // it has the capabilities of root, and not only its image's
	death unix.Signal // that it gets when its parent ends: PR_SET_PDEATHSIG; 0: none
	since bool        // it was held before, by another keeper: death is yet to be asked for

	fresh  bool // it was just made, and is yet to be seen in its first stop
	owed   int  // signals that are pending by which it says that it is done, see said
	argv   span // where its command line is
	astray bool // that is not known: another keeper has put it there

	marked   bool        // a mark came while the ghost was being driven, and is to be sent again
	toStop   unix.Signal // by which it is to be stopped at the next mark; 0: not
	stopping unix.Signal // by which it was just now, without its having been seen stopped; 0: not
}

// markSignal carries the keeper's mark to a ghost that is to be stopped. The
// stop signal itself is put in its place when it is delivered. It must not be
// sent: the kernel drops a SIGCONT that has not been delivered yet when a stop
// signal is sent (signal(7), prepare_signal of kernel/signal.c), and somebody's
// SIGCONT would be lost. The image ignores it, which a tracer does not notice: should
// the keeper die in between, it is no ghost's end.
const markSignal = unix.Signal(64)

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
