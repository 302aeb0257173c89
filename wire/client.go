package wire

// Version is the protocol version of this code, MinVersion the oldest that it
// still speaks.
const (
	Version    = 1
	MinVersion = 1
)

// ListNodes asks for the node table.
type ListNodes struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
}

// Type implements [Message].
func (*ListNodes) Type() Type { return TypeListNodes }

// Node is a line of the node table.
type Node struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID     NodeID
	Name   string
	State  string // "up", "down", or what an administrator set
	Mode   uint32 // permission to start processes: bits 0111
	UID    uint32
	GID    uint32
	Addr   string // of the slave's connection; empty without one
	Procs  uint32 // processes there
	Since  int64  // Unix time of the last change of state
	Kernel string
	Arch   string
	CPUs   uint32
	Memory uint64
	Trust  string `since:"1"` // "full" or "limited"
}

// NodeList answers ListNodes, in order of node numbers.
type NodeList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Nodes []Node
	Here  *NodeID // the node that the client is on; nil: it is on the front end
}

// Type implements [Message].
func (*NodeList) Type() Type { return TypeNodeList }

// Enroll asks for a join token.
type Enroll struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID // number for the node; negative: the next free one
	Name    string // name for the node; empty: the slave's host name
	Seconds uint32 // how long the token can be used
}

// Type implements [Message].
func (*Enroll) Type() Type { return TypeEnroll }

// Token answers Enroll.
type Token struct {
	_msgpack struct{} `msgpack:",as_array"`

	Token   string
	Expires int64 // Unix time
}

// Type implements [Message].
func (*Token) Type() Type { return TypeToken }

// Revoke has the master forget the identity of a node, and with it the node's session and
// processes.
type Revoke struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
}

// Type implements [Message].
func (*Revoke) Type() Type { return TypeRevoke }

// SetNode changes a line of the node table. A nil field stays as it is.
type SetNode struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
	State   *string
	Mode    *uint32
	UID     *uint32
	GID     *uint32
	Trust   *string `since:"1"` // "full" or "limited"
}

// Type implements [Message].
func (*SetNode) Type() Type { return TypeSetNode }

// Done says that a request was carried out.
type Done struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*Done) Type() Type { return TypeDone }

// ListProcs asks for the process table.
type ListProcs struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
}

// Type implements [Message].
func (*ListProcs) Type() Type { return TypeListProcs }

// Proc is a line of the process table.
type Proc struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	Node NodeID
}

// ProcList answers ListProcs, in order of process numbers.
type ProcList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Procs []Proc
}

// Type implements [Message].
func (*ProcList) Type() Type { return TypeProcList }

// Births waits until processes of nodes are born.
type Births struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	After   uint64 // the count so far; 0: it is not known
}

// Type implements [Message].
func (*Births) Type() Type { return TypeBirths }

// Born answers Births.
type Born struct {
	_msgpack struct{} `msgpack:",as_array"`

	Count uint64 // of births; each master begins at another number
}

// Type implements [Message].
func (*Born) Type() Type { return TypeBorn }
