package wire

// Look asks to be shown the processes of a node. The connection stays: each
// Refresh on it is answered by what has changed since the one before.
type Look struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
}

// Type implements [Message].
func (*Look) Type() Type { return TypeLook }

// Show is Look for a slave: the first frame of a stream.
type Show struct {
	_msgpack struct{} `msgpack:",as_array"`

	Environ bool    // environments are told, too: whoever looks is root
	UID     uint32  `since:"1"` // who looks
	From    *NodeID `since:"1"` // where; nil: on the front end
}

// Type implements [Message].
func (*Show) Type() Type { return TypeShow }

// Shown answers Show: what the times of start mean that are told then. So each part of what
// is told can be taken in when it comes.
type Shown struct {
	_msgpack struct{} `msgpack:",as_array"`

	BootID string // /proc/sys/kernel/random/boot_id of the node
	Uptime uint64 // nanoseconds since the node was started: CLOCK_BOOTTIME
}

// Type implements [Message].
func (*Shown) Type() Type { return TypeShown }

// Refresh asks for what has changed. The next one is not sent before Refreshed has
// answered this one.
type Refresh struct {
	_msgpack struct{} `msgpack:",as_array"`

	Now bool // as of now: what the node has found out for others just before does not do
}

// Type implements [Message].
func (*Refresh) Type() Type { return TypeRefresh }

// Texts are what procfs shows of a process to everybody: the files of
// /proc/PID of these names (proc_pid_stat(5), ...). A text beyond MaxText is left out:
// it has to be asked for by Inspect. A Cgroup that is as it was told last is left out, too.
type Texts struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID     PID
	Parent  PID    // on the front end, where the node's kernel says 1; 0: not known
	Start   uint64 // starttime of Stat: with the PID, it tells a process from a later one
	UID     uint32 // owner of its files in procfs: its effective user, or root
	GID     uint32
	Stat    []byte
	Status  []byte
	Statm   []byte
	Cmdline []byte
	Cgroup  []byte        // nil: as it was told last
	Threads []ThreadTexts // nil: only the first, whose texts are those of the process

	// Environ says which of Changed.Environs is in the file environ, counted from 1;
	// EnvironAsBefore or EnvironNotTold.
	Environ int32
}

// Values of [Texts].Environ for what is not in the message.
const (
	EnvironAsBefore = 0  // as it was told last
	EnvironNotTold  = -1 // it has to be asked for
)

// MaxEnviron bounds an environment that is told, in bytes.
const MaxEnviron = 8 << 10

// ThreadTexts are what procfs shows of a thread, below /proc/PID/task/TID. Both empty:
// as they were, or left out.
type ThreadTexts struct {
	_msgpack struct{} `msgpack:",as_array"`

	TID    PID
	Same   bool // as they were told last
	Stat   []byte
	Status []byte
}

// MaxText bounds one text of [Texts] and [ThreadTexts], in bytes; MaxTexts those of all
// threads of a process together but for the last one's, and MaxThreads how many of them are
// told.
const (
	MaxText    = 64 << 10
	MaxTexts   = 256 << 10
	MaxThreads = 16 << 10
)

// Changed tells of processes that are new, or have changed since the last Refresh.
type Changed struct {
	_msgpack struct{} `msgpack:",as_array"`

	Event uint64 // number of the node's last event before this was read, as in Stdout
	Procs []Texts
	Ended []PID

	// Environs are the environments of Procs that were not told before: for their
	// owners and root only. Most processes share theirs with others.
	Environs [][]byte
}

// Type implements [Message].
func (*Changed) Type() Type { return TypeChanged }

// Refreshed answers Refresh, after all that is Changed.
type Refreshed struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*Refreshed) Type() Type { return TypeRefreshed }

// Look-ups in procfs.
const (
	FetchFile FetchKind = 1 // what is in a file
	FetchLink FetchKind = 2 // the text of a symbolic link
	FetchList FetchKind = 3 // the names in a directory
)

// FetchKind is a way of looking something up in procfs.
type FetchKind uint8

// Viewer says for whom a slave has opened a stream: somebody on its node who looks.
// What follows is as on the connection of a client.
type Viewer struct {
	_msgpack struct{} `msgpack:",as_array"`

	UID uint32
	GID uint32
	PID PID `since:"1"` // of who looks, if that is a process of the space; 0: it is none

	// Event is the number of the last event before, with PID.
	Event uint64 `since:"1"`
}

// Type implements [Message].
func (*Viewer) Type() Type { return TypeViewer }

// Asker is a user who wants to know something.
type Asker struct {
	_msgpack struct{} `msgpack:",as_array"`

	UID uint32
	GID uint32
}

// Inspect asks for something in /proc/PID, or in /proc, of a node.
type Inspect struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
	PID     PID    // 0: Path is of /proc itself
	Start   uint64 // as in Texts; 0: whichever process has the number
	Kind    FetchKind
	Path    string // relative, of names without "." and ".."
	For     *Asker // for whom root asks; nil: for itself
}

// Type implements [Message].
func (*Inspect) Type() Type { return TypeInspect }

// Fetch is Inspect for a slave: the master has added who asks. The kernel of the node
// decides what that user may see. It is the first frame of a stream.
type Fetch struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Start  uint64
	Kind   FetchKind
	Path   string
	UID    uint32
	GID    uint32
	Groups []uint32
}

// Type implements [Message].
func (*Fetch) Type() Type { return TypeFetch }

// Piece answers Inspect and Fetch: a part of what was asked for. Several make the
// whole.
type Piece struct {
	_msgpack struct{} `msgpack:",as_array"`

	Event   uint64 // as in Changed
	Errno   uint32 // 0: it is there
	Last    bool
	Data    []byte  // of a file or a link, at most MaxData bytes
	Entries []Entry // of a directory
}

// Type implements [Message].
func (*Piece) Type() Type { return TypePiece }

// Entry is a name in a directory of procfs.
type Entry struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name   string
	Type   uint8  // as in getdents64(2): DT_REG, DT_DIR, DT_LNK, ...
	Target string // of a symbolic link; empty: not to be read
}

// MaxFetch bounds the bytes of a file, and those of all names of a directory.
const MaxFetch = 8 << 20
