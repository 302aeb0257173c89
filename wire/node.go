package wire

// Hello opens a connection of a slave to the master.
type Hello struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version  uint16 // highest protocol version spoken
	Arch     string // GOARCH
	BootID   string // /proc/sys/kernel/random/boot_id
	Host     string // host name of the slave
	Link     string // link to resume; empty: a new one
	Received uint64 // bytes of that link received so far
}

// Type implements [Message].
func (*Hello) Type() Type { return TypeHello }

// Welcome answers Hello.
type Welcome struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version  uint16 // the version to use
	Link     string // name of the link, for resuming it; empty: the link of the Hello is not known
	Resumed  bool   // the link of the Hello goes on
	Received uint64 // bytes of the link received so far
	Lease    uint32 // milliseconds without a message of the master after which the slave kills its processes
	Interval uint32 // milliseconds after which an idle end gives a sign of life
}

// Type implements [Message].
func (*Welcome) Type() Type { return TypeWelcome }

// Refused ends a connection with a reason for the user.
type Refused struct {
	_msgpack struct{} `msgpack:",as_array"`

	Reason string

	Later  bool `since:"1"` // to a slave: the reason may pass; it must ask again
	Rejoin bool `since:"1"` // to a slave: its identity is invalid; it needs a new token
}

// Type implements [Message].
func (*Refused) Type() Type { return TypeRefused }

// JoinRequest asks for a certificate with a token's secret.
type JoinRequest struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Secret  []byte // of the token
	CSR     []byte // certificate request, DER
	Host    string // host name of the slave: its name if the token has none
}

// Type implements [Message].
func (*JoinRequest) Type() Type { return TypeJoinRequest }

// JoinReply has the certificate, and the numbers that no other node is ever given.
type JoinReply struct {
	_msgpack struct{} `msgpack:",as_array"`

	Certificate []byte // the slave's, DER
	Authority   []byte // the authority's, DER
	Home        Block  // a Count of 0: none
}

// Type implements [Message].
func (*JoinReply) Type() Type { return TypeJoinReply }

// About describes the master to any client of the network.
type About struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version    uint16 // highest protocol version spoken
	MinVersion uint16 // lowest protocol version spoken
	Release    string // version of the program
	Time       int64  // of the master's clock, nanoseconds since 1970
}

// Type implements [Message].
func (*About) Type() Type { return TypeAbout }

// Signal is a signal for one process, in the form in which the front end's kernel gave it to the
// keeper.
type Signal struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	Info []byte // siginfo_t, 128 bytes; si_signo is the signal

	// Seen is the last event that the master had handled. If PID was born later, another process
	// has the number by now, and is not meant.
	//
	// Group means that the signal was for the whole process group. Ghosts of processes whose births
	// are later events than Seen did not exist and missed it. Such processes get it, too, if they
	// descend from PID through such processes only and are in its group. SIGKILL for a group is for
	// a process whose ghost could not be made: its birth is the event after Seen.
	Group bool
	Seen  uint64

	// Seq is that of GhostSignal. A process that has had this or a later one of the same Boot (of
	// GhostList) does not get it again; 0: no check.
	Seq  uint64
	Boot uint64 `since:"1"`
}

// Type implements [Message].
func (*Signal) Type() Type { return TypeSignal }

// Mark is the number of the last signal that a process has received.
type Mark struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID PID
	Seq uint64
}

// SignalsTaken says that signals have reached their processes, or that these have ended. A mark
// covers all signals of a process up to it.
type SignalsTaken struct {
	_msgpack struct{} `msgpack:",as_array"`

	Marks []Mark
	Boot  uint64 `since:"1"` // of these signals
}

// Type implements [Message].
func (*SignalsTaken) Type() Type { return TypeSignalsTaken }

// BlocksGranted gives blocks of process numbers to a node, in addition to its other blocks.
type BlocksGranted struct {
	_msgpack struct{} `msgpack:",as_array"`

	Blocks []Block
}

// Type implements [Message].
func (*BlocksGranted) Type() Type { return TypeBlocksGranted }

// BlocksWanted asks for another block.
type BlocksWanted struct {
	_msgpack struct{} `msgpack:",as_array"`

	Blocks uint32 // 1; the master decides the size
}

// Type implements [Message].
func (*BlocksWanted) Type() Type { return TypeBlocksWanted }

// Reparent changes the result of getppid in a process that was started from the front end: its
// parent there has ended.
type Reparent struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Parent PID
}

// Type implements [Message].
func (*Reparent) Type() Type { return TypeReparent }

// KillAll ends every process of the node's space.
type KillAll struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*KillAll) Type() Type { return TypeKillAll }

// HangUp says that the client of a process has left: its output is not read any more. The end of
// the process stream says the same, but comes after all input, which a process may never read.
type HangUp struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID PID

	// Session means that the client wants its processes to get SIGHUP: so do all processes of the
	// session that the process leads, if any.
	Session bool `since:"1"`
}

// Type implements [Message].
func (*HangUp) Type() Type { return TypeHangUp }

// CallOp is a system call that the front end makes for a remote process.
type CallOp uint8

// The calls. Their arguments are those of the manual pages, in order. The caller's ghost sends
// signals, so the kernel of the front end judges whether it may, and the sender is right.
const (
	CallGetppid    CallOp = 1 // parent of the caller
	CallGetpgid    CallOp = 2 // pid
	CallGetsid     CallOp = 3 // pid
	CallKill       CallOp = 4 // pid, signal
	CallTgkill     CallOp = 5 // tgid, tid, signal; tkill(2) has tgid 0
	CallSigqueue   CallOp = 6 // pid, signal; Info
	CallTgsigqueue CallOp = 7 // tgid, tid, signal; Info
	CallGroup      CallOp = 8 // pgid: 0 if the caller's session has such a group, else EPERM
	CallExists     CallOp = 9 // pid: 0 if the process exists, else ESRCH

	// CallEnd is pidfd_open(2) and, if wait is not 0, poll(2): pid, wait. It has no caller.
	CallEnd CallOp = 10
)

// Call asks for a system call on the front end. It is made when the ghosts of all births reported
// before exist. Return, with the same number, follows the signals that the call has made for the
// caller itself.
type Call struct {
	_msgpack struct{} `msgpack:",as_array"`

	Caller PID
	Op     CallOp
	Args   []int64
	Info   []byte // siginfo_t, 128 bytes
	NoKill bool   `since:"1"` // the caller is root without CAP_KILL (capabilities(7))
}

// Type implements [Message].
func (*Call) Type() Type { return TypeCall }

// Return answers Call.
type Return struct {
	_msgpack struct{} `msgpack:",as_array"`

	Errno uint32 // 0: success
	Value int64
}

// Type implements [Message].
func (*Return) Type() Type { return TypeReturn }

// Progress says up to which event the front end has caught up: these events have had their effect
// on the ghosts, even if this master ends now. The slave forgets them.
type Progress struct {
	_msgpack struct{} `msgpack:",as_array"`

	Event uint64
}

// Type implements [Message].
func (*Progress) Type() Type { return TypeProgress }

// Budget bounds the number of a user's processes and threads on the node. With a Group it bounds
// the number of processes that the user has started from this control group of the front end, with
// their descendants; short-lived threads do not count then.
type Budget struct {
	_msgpack struct{} `msgpack:",as_array"`

	UID   uint32
	Tasks uint64 // 0: no bound; with a Group: it is no longer used
	Group uint64 // 0: everything of the user
}

// Type implements [Message].
func (*Budget) Type() Type { return TypeBudget }

// Bounded answers a Budget with a Group: births reported after it do not exceed Tasks.
type Bounded struct {
	_msgpack struct{} `msgpack:",as_array"`

	UID   uint32
	Tasks uint64
	Group uint64
}

// Type implements [Message].
func (*Bounded) Type() Type { return TypeBounded }

// Renew asks for a RenewRequest: the certificate of the slave will expire.
type Renew struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*Renew) Type() Type { return TypeRenew }

// RenewRequest asks for another certificate for the same identity.
type RenewRequest struct {
	_msgpack struct{} `msgpack:",as_array"`

	CSR []byte // certificate request, DER
}

// Type implements [Message].
func (*RenewRequest) Type() Type { return TypeRenewRequest }

// RenewReply is the certificate for the last RenewRequest. The slave stores it and connects again
// with it; the link goes on.
type RenewReply struct {
	_msgpack struct{} `msgpack:",as_array"`

	Certificate []byte // DER
}

// Type implements [Message].
func (*RenewReply) Type() Type { return TypeRenewReply }

// BlocksReturned returns blocks in which no number is in use.
type BlocksReturned struct {
	_msgpack struct{} `msgpack:",as_array"`

	Blocks []Block
}

// Type implements [Message].
func (*BlocksReturned) Type() Type { return TypeBlocksReturned }

// Leaving says that the daemon of a node was told to end, and all processes of the node with it: it
// starts no others. Their ends are reported next.
type Leaving struct {
	_msgpack struct{} `msgpack:",as_array"`

	Empty bool // none are left, and all ends were reported
}

// Type implements [Message].
func (*Leaving) Type() Type { return TypeLeaving }

// EventKind is the kind of an event.
type EventKind uint8

// Kinds of events.
const (
	EventSpawned   EventKind = 1  // a Spawn succeeded, or failed: Errno and Stage
	EventForked    EventKind = 2  // PID was forked by Parent
	EventExeced    EventKind = 3  // PID has executed Argv
	EventExited    EventKind = 4  // PID ended with Status
	EventStopped   EventKind = 5  // PID was stopped by the signal in Status
	EventContinued EventKind = 6  // PID has continued
	EventGrouped   EventKind = 7  // PID is now in group PGID and session SID
	EventUser      EventKind = 8  // PID now has the credentials User and Group
	EventReaper    EventKind = 9  // PID adopts orphans (Status 1) or not (0): PR_SET_CHILD_SUBREAPER of prctl(2)
	EventDeath     EventKind = 10 // PID gets the signal in Status when its parent ends: PR_SET_PDEATHSIG of prctl(2)
	EventZombie    EventKind = 11 // PID ended with Status, and its parent has not waited for it yet; Exited follows
)

// Event is an event of a node's process. Events are numbered from 1 for each link, without gaps.
type Event struct {
	_msgpack struct{} `msgpack:",as_array"`

	Kind   EventKind
	PID    PID
	Parent PID      // Forked
	Maker  PID      // Forked: the process that called clone, if it is not Parent (CLONE_PARENT); 0: Parent. Grouped: the process that called setpgid for a zombie; 0: PID
	PGID   PID      // Forked, Execed, Grouped; 0: unchanged
	SID    PID      // Forked, Execed, Grouped; 0: unchanged
	Status Status   // Exited, Zombie, Stopped (the signal, as WSTOPSIG), Reaper, Death
	Stage  Stage    // Spawned, if it failed
	Errno  uint32   // Spawned, if it failed
	Argv   []string // Execed; also Forked if the child has already executed
	Comm   string   // name of the program, if it is not the end of Argv[0]; alone: of a zombie
	User   *IDs     // User; also Forked and Execed; nil: unchanged
	Group  *IDs     // like User

	// Birth tells the process from others with the same number, earlier or later: the Launch of a
	// process that was started from the front end, for others a number that their node has not
	// given before. 0: not known.
	Birth uint64

	Usage *Usage `since:"1"` // Exited, of a process that was started from the front end; nil: not known

	WithNode bool `since:"1"` // Exited, of such a process: it was killed with all processes of its node
}

// Events reports Events, the first of which has number First.
type Events struct {
	_msgpack struct{} `msgpack:",as_array"`

	First  uint64
	Events []Event
}

// Type implements [Message].
func (*Events) Type() Type { return TypeEvents }

// Last returns the number of the last event.
func (e *Events) Last() uint64 { return e.First + uint64(len(e.Events)) - 1 }

// Inventory is a slave's first message on a new control stream.
type Inventory struct {
	_msgpack struct{} `msgpack:",as_array"`

	Kernel string  // uname -r
	CPUs   uint32  // usable processors
	Memory uint64  // bytes
	PIDs   []PID   // living processes of the space, in order
	Blocks []Block // numbers that the node has

	// The first Again events of the session are those of a former session for which it received no
	// Progress. They may have had their effect or not. PIDs is the state before them, and Starting
	// are those of PIDs whose event Spawned is still to come.
	Again    uint64
	Starting []PID

	// Births and Parents are of PIDs, in their order: births as in Event, and the parents on the
	// front end of processes that were started from there, 0 for others.
	Births  []uint64
	Parents []PID
	Stopped []PID // those of PIDs that are stopped, in order

	Names bool   `since:"1"` // the slave wants to receive Names
	Space uint64 `since:"1"` // identity of the process space: one that is made anew has another; 0: not told
}

// Type implements [Message].
func (*Inventory) Type() Type { return TypeInventory }
