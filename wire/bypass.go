package wire

// Sizes of what is random, in bytes.
const (
	BypassToken = 16 // that says which bypass a connection is for; good for one connection
	BypassKey   = 32 // that the two ends of a bypass have, and the master that has put them together
)

// Bypass asks for a connection to the node of a process that goes past the master.
type Bypass struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Node    NodeID
	PID     PID
	Launch  uint64 // as in Run
}

// Type implements [Message].
func (*Bypass) Type() Type { return TypeBypass }

// Bypassed comes with the descriptor of the connection.
type Bypassed struct {
	_msgpack struct{} `msgpack:",as_array"`

	ToNode   []byte // key of what the client says
	ToClient []byte // key of what the node says
}

// Type implements [Message].
func (*Bypassed) Type() Type { return TypeBypassed }

// OpenBypass asks a slave to connect to its master for the client of a process.
type OpenBypass struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Launch uint64
	UID    uint32 // of the client, as in Resume
	Token  []byte
}

// Type implements [Message].
func (*OpenBypass) Type() Type { return TypeOpenBypass }

// BypassHello is the first message of a connection that OpenBypass has asked for.
type BypassHello struct {
	_msgpack struct{} `msgpack:",as_array"`

	Token []byte
}

// Type implements [Message].
func (*BypassHello) Type() Type { return TypeBypassHello }

// BypassWelcome says that the connection goes to the client now. TLS ends with this message.
type BypassWelcome struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*BypassWelcome) Type() Type { return TypeBypassWelcome }
