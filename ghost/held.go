package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// held is a ghost that a shard is the tracer of. Its owner is the shard.
type held struct {
	pid     wire.PID
	tree    *tree
	stopped bool // in a group stop: its parent sees it as T
	killed  bool // it got SIGKILL and is held in its exit
	slipped bool // it is held as a zombie, see await
	asked   bool // it is to end: GhostExit has come
	ending  bool // that takes long, and the shard looks for its end again and again
	zombie  bool // it is to stay a zombie then

	user  wire.IDs
	group wire.IDs
	root  bool        // it has the capabilities of root, and not only its image's
	death unix.Signal // that it gets when its parent ends: PR_SET_PDEATHSIG; 0: none
	since bool        // it was held before, by another keeper: death is yet to be asked for

	alarmed bool // it has the alarm that the image sets, see young

	fresh  bool // it was just made, and is yet to be seen in its first stop
	owed   int  // signals that are pending by which it says that it is done, see said
	argv   span // where its command line is
	astray bool // that is not known: another keeper has put it there

	continued bool // SIGCONT has been sent, and may come without its mark, see siginfo.lost

	plain bool // a mark has been sent without its value, see sendMark

	halts    bool        // its process is stopped, by what the master says
	marked   bool        // a mark came while the ghost was being driven, and is to be sent again
	toStop   unix.Signal // by which it is to be stopped at the next mark; 0: not
	stopping unix.Signal // by which it was just now, without its having been seen stopped; 0: not
}
