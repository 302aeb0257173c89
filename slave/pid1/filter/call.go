package filter

import "golang.org/x/sys/unix"

// Call is a system call that the supervisor answers, independent of the
// interface it comes through.
type Call uint8

// The calls. 32-bit programs pass a siginfo_t of another layout.
const (
	Getppid Call = iota + 1
	Getpgid
	Getsid
	Setpgid
	Setsid
	Kill
	Tkill
	Tgkill
	Sigqueue     // rt_sigqueueinfo(2)
	Sigqueue32   // with the siginfo_t of a 32-bit program
	Tgsigqueue   // rt_tgsigqueueinfo(2)
	Tgsigqueue32 // with the siginfo_t of a 32-bit program
	PidfdOpen
	PidfdSignal   // pidfd_send_signal(2)
	PidfdSignal32 // with the siginfo_t of a 32-bit program
	PidfdGetfd
	Ptrace
	Prctl
	Setresuid
	Setresgid
	Credentials // setuid(2), setgid(2) and all others that change the same numbers
)

// place is the name of a place in the filter.
type place string

// The rules: for which arguments of a call the supervisor is asked.
const (
	anything            = asked
	another       place = "another"       // not for 0, by which the caller means itself, nor for a process at home
	number        place = "number"        // not for a process at home
	signalProcess place = "signalProcess" // the same, but for signals that stop
	signalThread  place = "signalThread"  // the same, where argument 1 is a process or thread
	traits        place = "traits"        // only for the options of prctl(2) below
	attach        place = "attach"        // only for the requests of ptrace(2) below, and not about a process at home
)

func (c Call) rule() place {
	switch c {
	case Getpgid, Getsid:
		return another
	case PidfdOpen:
		return number
	case Kill, Tkill, Sigqueue, Sigqueue32:
		return signalProcess
	case Tgkill, Tgsigqueue, Tgsigqueue32:
		return signalThread
	case Prctl:
		return traits
	case Ptrace:
		return attach
	default:
		return anything
	}
}

// stops are the signals that do not stop a process of an orphaned group. Whether a group is
// orphaned may not be settled; the supervisor settles it.
var stops = []uint32{uint32(unix.SIGTSTP), uint32(unix.SIGTTIN), uint32(unix.SIGTTOU)}

// options are the options of prctl(2) that the front end has to know of.
var options = []uint32{unix.PR_SET_PDEATHSIG, unix.PR_SET_CHILD_SUBREAPER}

// requests are the requests of ptrace(2) by which one process begins to trace another. The many
// requests after them are between the two processes.
var requests = []uint32{unix.PTRACE_ATTACH, unix.PTRACE_SEIZE}
