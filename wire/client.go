package wire

// Version is the protocol version of this code, MinVersion the oldest one that it still speaks.
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
	State  string // see bproc(7)
	Mode   uint32 // permission to start processes: bits 0111
	UID    uint32
	GID    uint32
	Addr   string // of the slave's connection; empty without one
	Procs  uint32 // processes on the node
	Since  int64  // Unix time of the last change of state
	Kernel string
	Arch   string
	CPUs   uint32
	Memory uint64
	Trust  string `since:"1"` // "full" or "limited"

	Sockets uint32   `since:"1"` // 0: the node has not reported them
	Cores   uint32   `since:"1"` // like Sockets
	GPUs    uint32   `since:"1"`
	Labels  []string `since:"1"` // tags and attributes that an administrator has set, in order
	Boot    string   `since:"1"` // boot_id of the machine that is connected, or was last
	Reason  string   `since:"1"` // why it is in this state; may be empty
}

// NodeList answers ListNodes, in order of node numbers.
type NodeList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Nodes []Node
	Here  *NodeID // the node that the client is on; nil: the front end
}

// Type implements [Message].
func (*NodeList) Type() Type { return TypeNodeList }

// Enroll asks for a join token.
type Enroll struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID // number for the node; negative: the next free one
	Name    string // name for the node; empty: the slave's host name
	Seconds uint32 // lifetime of the token
	Count   uint32 `since:"1"` // number of machines that can join with it; 0: one
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

// ListTokens asks for the join tokens that can still be used.
type ListTokens struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
}

// Type implements [Message].
func (*ListTokens) Type() Type { return TypeListTokens }

// JoinToken is a join token, of which only a hash is known.
type JoinToken struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID      string // begin of the hash
	Node    NodeID // beginning of the hash
	Name    string // name for the node; empty: the slave's host name
	Count   uint32 // number of machines that can join with it
	Uses    uint32 // number of machines that have joined
	Nodes   []NodeID
	Expires int64 // Unix time
}

// TokenList answers ListTokens, in order of expiry.
type TokenList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Tokens []JoinToken
}

// Type implements [Message].
func (*TokenList) Type() Type { return TypeTokenList }

// RevokeToken makes the master refuse the join token with this ID.
type RevokeToken struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	ID      string
}

// Type implements [Message].
func (*RevokeToken) Type() Type { return TypeRevokeToken }

// Revoke makes the master forget the identity of a node, and end the node's session and processes.
type Revoke struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
}

// Type implements [Message].
func (*Revoke) Type() Type { return TypeRevoke }

// SetNodes changes lines of the node table, in one step. A nil field leaves the value unchanged.
type SetNodes struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Nodes   []NodeID
	State   *string
	Mode    *uint32
	UID     *uint32
	GID     *uint32
	Trust   *string  // "full" or "limited"
	Drain   *bool    // no new processes are started there
	Set     []string // labels to set; each replaces one of the same name
	Remove  []string // names of labels to remove
}

// Type implements [Message].
func (*SetNodes) Type() Type { return TypeSetNodes }

// NodesSet answers SetNodes: all nodes except these were changed.
type NodesSet struct {
	_msgpack struct{} `msgpack:",as_array"`

	Failed []NodeFailed
}

// Type implements [Message].
func (*NodesSet) Type() Type { return TypeNodesSet }

// NodeFailed says why a request failed for a node.
type NodeFailed struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID    NodeID
	Errno uint32
	Text  string
}

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

// Births waits until the count of births on nodes differs from After.
type Births struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	After   uint64 // the last known count; 0: not known
}

// Type implements [Message].
func (*Births) Type() Type { return TypeBirths }

// Born answers Births.
type Born struct {
	_msgpack struct{} `msgpack:",as_array"`

	Count uint64 // of births; each master begins with another number
}

// Type implements [Message].
func (*Born) Type() Type { return TypeBorn }
