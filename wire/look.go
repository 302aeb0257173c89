package wire

// Look asks for the processes of a node. The connection stays open: each Refresh on it is answered
// with the changes since the previous one.
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

	Environ bool    // also tell environments: the viewer is root
	UID     uint32  `since:"1"` // the viewer's user
	From    *NodeID `since:"1"` // the viewer's node; nil: the front end
}

// Type implements [Message].
func (*Show) Type() Type { return TypeShow }

// Shown answers Show with the origin of the start times that follow. So each part of an answer can
// be used as it arrives.
type Shown struct {
	_msgpack struct{} `msgpack:",as_array"`

	BootID string // /proc/sys/kernel/random/boot_id of the node
	Uptime uint64 // nanoseconds since the node was started: CLOCK_BOOTTIME
}

// Type implements [Message].
func (*Shown) Type() Type { return TypeShown }

// Refresh asks for changes. The next one may be sent only after Refreshed has answered this one.
type Refresh struct {
	_msgpack struct{} `msgpack:",as_array"`

	Now bool // as of now: data that the node has just found for another viewer are not enough
}

// Type implements [Message].
func (*Refresh) Type() Type { return TypeRefresh }

// Texts are what procfs shows every user of a process: the files of these names in /proc/PID
// (proc_pid_stat(5), ...). A text longer than MaxText is omitted, and can be read by Inspect. A
// Cgroup that has not changed is omitted, too.
type Texts struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID     PID
	Parent  PID    // on the front end, if the node's kernel says 1; 0: not known
	Start   uint64 // starttime of Stat: with the PID, it identifies the process
	UID     uint32 // owner of its files in procfs: its effective user, or root
	GID     uint32
	Stat    []byte
	Status  []byte
	Statm   []byte
	Cmdline []byte
	Cgroup  []byte        // nil: unchanged
	Threads []ThreadTexts // nil: only the first thread, whose texts are those of the process

	// Environ is the index in Changed.Environs, counted from 1, of the content of the file environ,
	// or EnvironAsBefore or EnvironNotTold.
	Environ int32
}

// Values of [Texts].Environ for an environment that is not in the message.
const (
	EnvironAsBefore = 0  // unchanged
	EnvironNotTold  = -1 // can be read by Inspect
)

// MaxEnviron bounds an environment in Changed, in bytes.
const MaxEnviron = 8 << 10

// ThreadTexts are what procfs shows of a thread, below /proc/PID/task/TID. If both are empty, they
// are unchanged or omitted.
type ThreadTexts struct {
	_msgpack struct{} `msgpack:",as_array"`

	TID    PID
	Same   bool // they are unchanged
	Stat   []byte
	Status []byte
}

// MaxText bounds one text of [Texts] and [ThreadTexts], in bytes; MaxTexts bounds those of all
// threads of a process together, except the last one's, and MaxThreads the number of threads.
const (
	MaxText    = 64 << 10
	MaxTexts   = 256 << 10
	MaxThreads = 16 << 10
)

// Changed reports processes that are new or have changed since the last Refresh.
type Changed struct {
	_msgpack struct{} `msgpack:",as_array"`

	Event uint64 // number of the node's last event before the texts were read, as in Stdout
	Procs []Texts
	Ended []PID

	// Environs are the new environments of Procs: only their owners and root may see them. Most
	// processes share theirs with others.
	Environs [][]byte
}

// Type implements [Message].
func (*Changed) Type() Type { return TypeChanged }

// Refreshed answers Refresh after the last Changed.
type Refreshed struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*Refreshed) Type() Type { return TypeRefreshed }

// Kinds of reads of procfs.
const (
	FetchFile FetchKind = 1 // the content of a file
	FetchLink FetchKind = 2 // the text of a symbolic link
	FetchList FetchKind = 3 // the names in a directory
)

// FetchKind is a kind of read of procfs.
type FetchKind uint8

// Viewer says for whom a slave has opened a stream: a process on its node that looks. The same
// frames follow as on a client's connection.
type Viewer struct {
	_msgpack struct{} `msgpack:",as_array"`

	UID uint32
	GID uint32
	PID PID `since:"1"` // the process, if it is in the space; 0: it is not

	// Event is the number of the last event before, if PID is set.
	Event uint64 `since:"1"`
}

// Type implements [Message].
func (*Viewer) Type() Type { return TypeViewer }

// Asker is a user for whom a request is made.
type Asker struct {
	_msgpack struct{} `msgpack:",as_array"`

	UID uint32
	GID uint32
}

// Inspect asks for a file in /proc/PID, or in /proc, of a node.
type Inspect struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
	PID     PID    // 0: Path is below /proc itself
	Start   uint64 // as in Texts; 0: any process with the number
	Kind    FetchKind
	Path    string // relative, without "." and ".."
	For     *Asker // the user for whom root asks; nil: for itself
}

// Type implements [Message].
func (*Inspect) Type() Type { return TypeInspect }

// Fetch is Inspect for a slave: the master has added the user. The kernel of the node decides what
// that user may see. It is the first frame of a stream.
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

// Piece answers Inspect and Fetch with a part of the result.
type Piece struct {
	_msgpack struct{} `msgpack:",as_array"`

	Event   uint64 // as in Changed
	Errno   uint32 // 0: no error
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
	Target string // of a symbolic link; empty: unreadable
}

// MaxFetch bounds the bytes of a file, and of all names in a directory.
const MaxFetch = 8 << 20
