package wire

// Descriptor says what one of a process's first three descriptors is on its
// node.
type Descriptor struct {
	_msgpack struct{} `msgpack:",as_array"`

	Mode DescriptorMode
	Path string // for DescriptorFile: opened on the node with the process's rights
}

// DescriptorMode is the kind of a [Descriptor].
type DescriptorMode uint8

// What a descriptor can be.
const (
	DescriptorNull   DescriptorMode = 0 // /dev/null
	DescriptorStream DescriptorMode = 1 // a pipe whose other end is the client
	DescriptorFile   DescriptorMode = 2 // a file of the node

	// DescriptorTerminal is for standard error: the terminal that Command asks for, which
	// standard input and output are.
	DescriptorTerminal DescriptorMode = 3
)

// Limit is one resource limit of getrlimit(2).
type Limit struct {
	_msgpack struct{} `msgpack:",as_array"`

	Resource uint8
	Soft     uint64
	Hard     uint64
}

// Command is what a process on a node is started with: everything that
// execve(2) and the caller's own state give a child on one machine, but for
// the credentials, which the master takes from the kernel. So it does with Umask, Nice and
// Limits, which are in Spawn only: what a Run says there is passed over.
type Command struct {
	_msgpack struct{} `msgpack:",as_array"`

	Argv    []string      // Argv[0] is looked up in PATH of Env, on the node
	Env     []string      // NAME=VALUE
	Dir     string        // working directory; see OnlyDir
	Umask   uint32        // umask(2)
	Nice    int8          // getpriority(2): -20..19
	Ignored uint64        // bit n-1: signal n is ignored at the start
	Limits  []Limit       // soft limits above the node's hard limit are cut to it
	Stdio   [3]Descriptor // standard input, output, error
	View    bool          // it sees the processes of the whole cluster in /proc

	// Terminal asks for a new terminal on the node, the controlling terminal of the
	// process. Standard input and output are streams then, and standard error is
	// DescriptorTerminal.
	Terminal *Terminal `since:"1"`

	Path string `since:"1"` // executed instead of Argv[0]; empty: Argv[0]

	// OnlyDir refuses a process that cannot have Dir for its working directory. Without it such a
	// process gets "/".
	OnlyDir bool `since:"1"`
}

// Terminal is how a terminal begins.
type Terminal struct {
	_msgpack struct{} `msgpack:",as_array"`

	Size  uint64 // see Size
	Modes []byte // struct termios of Linux, as TCGETS gives it; empty: those of a new terminal
}

// Size is the size of a terminal in one number, 16 bits for each field of struct winsize
// (ioctl_tty(2)): rows, from the lowest bits, columns, and width and height in pixels. No
// rows and no columns mean that it is unknown.
type Size uint64

// NewSize returns the size in one number.
func NewSize(rows, columns, width, height uint16) Size {
	return Size(rows) | Size(columns)<<16 | Size(width)<<32 | Size(height)<<48
}

// Fields returns rows, columns, and width and height in pixels.
func (s Size) Fields() (rows, columns, width, height uint16) {
	return uint16(s), uint16(s >> 16), uint16(s >> 32), uint16(s >> 48)
}

// Run asks the master to start a process on a node in place of a ghost. The
// ghost is a child of the asking process, already running the ghost's image.
type Run struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16 // the protocol version of the client
	Node    NodeID
	Ghost   PID
	HangUp  bool // send SIGHUP to the process when the client is gone
	Command Command

	// Launch is a random number that stands for this process, for Attach. Again
	// says that a master that is gone may have carried out the request already.
	Launch uint64
	Again  bool

	// Report asks for Ended.
	Report bool `since:"1"`

	// Leads is for a process that is to lead a session, where Ghost is 0: whoever asks is
	// on a node, and the master has the ghost made.
	Leads bool `since:"1"`

	// Ends is for what only ends processes of the node: of root, it is started on a drained node, too. The
	// answer EHOSTDOWN without a text says that none is left there; till that is certain, it is EAGAIN.
	Ends bool `since:"1"`
}

// Type implements [Message].
func (*Run) Type() Type { return TypeRun }

// Spawn is Run for a slave: the master has added who the process is.
type Spawn struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID     PID
	Parent  PID // what getppid answers
	PGID    PID // process group of the ghost; 0: not to be seen from the front end's PID namespace
	SID     PID // session of the ghost; 0: as for PGID
	UID     uint32
	GID     uint32
	Groups  []uint32
	Command Command
	Launch  uint64 // from Run

	// TaskGroup is the control group of the front end that bounds the process, as Group of
	// Budget; 0: there is none. Tasks is the bound where no Budget has come yet.
	TaskGroup uint64
	Tasks     uint64

	// Dropped are the capabilities (bit n: number n) that the process cannot get by
	// execve: the front end's daemons have them in their bounding set, and its ghost has
	// not (capabilities(7)).
	Dropped uint64 `since:"1"`
}

// Type implements [Message].
func (*Spawn) Type() Type { return TypeSpawn }

// Started says that the process runs: its execve succeeded. It also answers
// Attach.
type Started struct {
	_msgpack struct{} `msgpack:",as_array"`

	Taken uint64 // bytes of standard input that the node has taken; the next Stdin begins there
	PID   PID    `since:"1"` // of the process, where Ghost of Run is 0
}

// Type implements [Message].
func (*Started) Type() Type { return TypeStarted }

// Attach asks for the standard descriptors of a process whose former connection
// was lost with the master. It can be asked for again until the client has closed
// its connection to a master that lives, also after the process has ended.
type Attach struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
	Ghost   PID
	Launch  uint64    // as in Run
	Output  [2]uint64 // bytes of standard output and error that the client has; what follows is sent
	HangUp  bool      // as in Run
	Report  bool      `since:"1"` // as in Run
}

// Type implements [Message].
func (*Attach) Type() Type { return TypeAttach }

// Resume is Attach for a slave: the first frame of a process stream.
type Resume struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Launch uint64
	UID    uint32 // of the client; only root and who started the process may have its output
	Output [2]uint64
}

// Type implements [Message].
func (*Resume) Type() Type { return TypeResume }

// Resumed answers Resume on its stream.
type Resumed struct {
	_msgpack struct{} `msgpack:",as_array"`

	Errno uint32 // 0: the bytes follow; ESRCH: there is no such process
	Taken uint64 // as in Started
}

// Type implements [Message].
func (*Resumed) Type() Type { return TypeResumed }

// Ended says how a process has ended, to a client that has asked for it. Output may come after
// it.
type Ended struct {
	_msgpack struct{} `msgpack:",as_array"`

	Status Status // StatusUnknown: the client was away for too long
	Usage  *Usage // nil: not known

	// WithNode says that the process was killed with all others of its node, or is considered dead
	// with them: the node is down, or was.
	WithNode bool `since:"1"`
}

// StatusUnknown is the status of a process that has ended nobody knows how.
const StatusUnknown = ^Status(0)

// Type implements [Message].
func (*Ended) Type() Type { return TypeEnded }

// Usage is what a process, and those of its descendants that were waited for, have used
// (getrusage(2)).
type Usage struct {
	_msgpack struct{} `msgpack:",as_array"`

	User   uint64 // microseconds of processor time
	System uint64 // as User, in the kernel
	MaxRSS uint64 // KiB that the largest of them had in memory at a time
}

// Window bounds how many bytes of one descriptor are on their way: sent and not
// acknowledged. The sender keeps them until then.
const Window = 512 << 10

// AtOnce is how many bytes of one descriptor are worth sending at once, if there are as many: each
// write wakes the receiver.
const AtOnce = 4 * MaxData

// TellEvery is how many bytes the receiver takes of a descriptor until it tells the sender.
const TellEvery = Window / 2

// Stage tells at which step starting a process, or another request, failed.
type Stage uint8

// The stages, in the order in which a command travels.
const (
	StageRequest Stage = 1 // the request itself is not understood
	StageNode    Stage = 2 // the node is unknown, down, or not the caller's to use
	StageGhost   Stage = 3 // the ghost could not be adopted
	StageSpawn   Stage = 4 // the node could not make the process
	StageExec    Stage = 5 // the command could not be executed (ENOENT, EACCES, ...)
	StageFile    Stage = 6 // a file named for a descriptor could not be opened
	StageDir     Stage = 7 // the working directory could not be entered
)

// Failed says that a request was not carried out, and why.
type Failed struct {
	_msgpack struct{} `msgpack:",as_array"`

	Stage Stage
	Errno uint32 // errno(3) of Linux on amd64 and arm64, which agree
	Text  string // one line for a person; empty where stage and errno say it all
}

// Type implements [Message].
func (*Failed) Type() Type { return TypeFailed }
