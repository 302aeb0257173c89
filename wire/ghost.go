package wire

// GhostHello opens a connection of the master to the keeper.
type GhostHello struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
}

// Type implements [Message].
func (*GhostHello) Type() Type { return TypeGhostHello }

// GhostList answers GhostHello: the ghosts that the keeper holds, those of them that it holds in
// their exit because they got SIGKILL, those that are stopped, and how they were adopted.
type GhostList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Held    []PID
	Killed  []PID
	Stopped []PID
	Adopted []Adopted

	// Boot identifies the boot of the front end, and is not 0: signal numbers belong to one boot.
	Boot uint64 `since:"1"`

	More bool `since:"1"` // another GhostList follows, with more ghosts
}

// Type implements [Message].
func (*GhostList) Type() Type { return TypeGhostList }

// Adopted describes how a ghost was adopted. A keeper that has taken the ghost over takes its
// parent at that time for the client.
type Adopted struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Parent PID // the client
	HangUp bool
	Birth  uint64 // as in Event; 0: this keeper does not know it
	Owner  uint64 `since:"1"` // as in GhostAdopt; 0: this keeper does not know it
	Space  uint64 `since:"1"` // as in GhostAdopt; 0: not known
}

// GhostAdopt asks the keeper to hold a ghost that a client made.
type GhostAdopt struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Parent PID    // its parent must be this process
	UID    uint32 // its real user must be this one
	HangUp bool   // as in Run: for later masters
	Birth  uint64 // as in Event: for later masters

	// Owner tells later masters the owner of the ghost, in their own terms. 0: the ghost was held
	// before, and keeps its birth, owner and space.
	Owner uint64 `since:"1"`
	Space uint64 `since:"1"` // as in Inventory, of the node of a process that is to be started: for later masters
}

// Type implements [Message].
func (*GhostAdopt) Type() Type { return TypeGhostAdopt }

// GhostFork asks for a child of a ghost with a chosen number.
type GhostFork struct {
	_msgpack struct{} `msgpack:",as_array"`

	Parent PID
	Child  PID

	// Sibling makes Child a child of Parent's parent (CLONE_PARENT of clone(2)).
	Sibling bool

	Birth uint64 // as in Event: for later masters
	Owner uint64 `since:"1"` // as in GhostAdopt

	HangUp bool   `since:"1"` // as in GhostAdopt
	Space  uint64 `since:"1"` // as in GhostAdopt
}

// Type implements [Message].
func (*GhostFork) Type() Type { return TypeGhostFork }

// GhostExec gives a ghost the command line of its process. Without Argv it only sets the name: the
// process has ended.
type GhostExec struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	Argv []string
	Comm string // name of the program; empty: the last element of the path Argv[0]
}

// Type implements [Message].
func (*GhostExec) Type() Type { return TypeGhostExec }

// GhostJoin puts a ghost into a process group or a session. SID equal to PID asks for setsid(2);
// otherwise PGID is the group for setpgid(2), which is called for Child, or, if that is 0, for the
// ghost itself. A ghost that is a zombie can only be a Child.
type GhostJoin struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	PGID PID
	SID  PID

	Child PID
}

// Type implements [Message].
func (*GhostJoin) Type() Type { return TypeGhostJoin }

// GhostExit ends a ghost as its process ended.
type GhostExit struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Status Status
	Zombie bool // it stays a zombie, until the next GhostExit
}

// Type implements [Message].
func (*GhostExit) Type() Type { return TypeGhostExit }

// GhostStop stops a ghost, as its process is stopped by Signal.
type GhostStop struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Signal uint8
}

// Type implements [Message].
func (*GhostStop) Type() Type { return TypeGhostStop }

// GhostCont lets a stopped ghost go on.
type GhostCont struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID PID
}

// Type implements [Message].
func (*GhostCont) Type() Type { return TypeGhostCont }

// GhostCall makes a ghost send a signal: Op is CallKill, CallTgkill, CallSigqueue or
// CallTgsigqueue. Signals that the ghost itself gets by the call are reported before GhostDone.
type GhostCall struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	Op   CallOp
	Args []int64
	Info []byte // siginfo_t, 128 bytes

	NoKill bool `since:"1"` // its process has no CAP_KILL
}

// Type implements [Message].
func (*GhostCall) Type() Type { return TypeGhostCall }

// GhostUser gives a ghost the credentials of its process. As in setresuid(2), the greatest number
// leaves an ID unchanged.
type GhostUser struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID   PID
	User  IDs
	Group IDs
}

// Type implements [Message].
func (*GhostUser) Type() Type { return TypeGhostUser }

// GhostTrait sets an attribute that the process of a ghost has set by prctl(2): Option is
// PR_SET_CHILD_SUBREAPER or PR_SET_PDEATHSIG.
type GhostTrait struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Option uint32
	Value  uint32
}

// Type implements [Message].
func (*GhostTrait) Type() Type { return TypeGhostTrait }

// GhostDone answers the request with the same number.
type GhostDone struct {
	_msgpack struct{} `msgpack:",as_array"`

	Errno uint32 // 0: done
}

// Type implements [Message].
func (*GhostDone) Type() Type { return TypeGhostDone }

// GhostSignal reports a signal that was sent to a ghost. The signal has had no effect on the ghost,
// except SIGKILL: the ghost is held in its exit.
type GhostSignal struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	Info []byte // siginfo_t, 128 bytes; si_signo is the signal

	// Seq grows with each signal, over all ghosts and all keepers of this boot. The signal is
	// reported again to each new master until a GhostTaken covers it.
	Seq uint64

	// Group means that kill(2) has sent it to the ghost's process group. It is false where the
	// keeper cannot know that.
	Group bool `since:"1"`
}

// Type implements [Message].
func (*GhostSignal) Type() Type { return TypeGhostSignal }

// GhostTaken says that signals have reached their processes, like SignalsTaken.
type GhostTaken struct {
	_msgpack struct{} `msgpack:",as_array"`

	Marks []Mark
}

// Type implements [Message].
func (*GhostTaken) Type() Type { return TypeGhostTaken }

// GhostSync makes the keeper report the signals that are pending for a ghost, before GhostDone.
type GhostSync struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID PID
}

// Type implements [Message].
func (*GhostSync) Type() Type { return TypeGhostSync }

// GhostGone reports that a ghost has ended.
type GhostGone struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Asked  bool // it ended because of GhostExit
	Status Status
}

// Type implements [Message].
func (*GhostGone) Type() Type { return TypeGhostGone }
