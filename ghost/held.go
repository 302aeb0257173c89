package ghost

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// held is a ghost that is traced by a shard, which owns the struct.
type held struct {
	pid     wire.PID
	tree    *tree
	stopped bool // in a group stop: its parent sees state T
	killed  bool // it got SIGKILL and is held in its exit
	slipped bool // it is held as a zombie, see await
	asked   bool // it is to end: a GhostExit was received
	ending  bool // its end takes long, and the shard checks for it again and again
	zombie  bool // it is to stay a zombie after its end

	user  wire.IDs
	group wire.IDs
	root  bool        // it has the capabilities of root, not only the image's
	death unix.Signal // sent to it when its parent ends: PR_SET_PDEATHSIG; 0: none
	since bool        // another keeper held it before, and death has not been read yet

	alarmed bool // it has the alarm that the image sets, see young

	fresh  bool // it was just made, and its first stop has not been seen
	owed   int  // pending signals by which it says that it is done, see said
	argv   span // place of its command line
	astray bool // argv is not known: another keeper has set it

	continued bool // SIGCONT has been sent, and may arrive without its mark, see siginfo.lost

	plain bool // a mark has been sent without its value, see sendMark

	groupKill uint64 // when the last signal for its group was sent that it got, or since when it is in the group; see forGroup

	halts    bool        // its process is stopped, according to the master
	marked   bool        // a mark came while the ghost was being driven, and must be sent again
	toStop   unix.Signal // signal to stop it with at the next mark; 0: none
	stopping unix.Signal // signal that was just delivered to stop it, whose stop has not been seen; 0: none
}
