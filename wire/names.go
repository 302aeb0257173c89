package wire

// Names says what the names of the cluster mean: n3 and .3 for node 3, master, and self.
type Names struct {
	_msgpack struct{} `msgpack:",as_array"`

	Node   NodeID // of whom it is told: self; -1: the front end
	Addr   string // of self
	Master string // of the front end, as it is reached from there
	Nodes  []byte // all nodes that have an address: lines "NUMBER ADDRESS", deflated (RFC 1951)

	// Partial says that the master does not know all addresses yet: those of nodes that are not
	// in Nodes stay as they were.
	Partial bool
	Digest  uint64 // of what it says, but for Node and Addr; never 0
}

// Type implements [Message].
func (*Names) Type() Type { return TypeNames }

// AwaitNames waits until Names has another digest.
type AwaitNames struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	After   uint64 // 0: it is not known
}

// Type implements [Message].
func (*AwaitNames) Type() Type { return TypeAwaitNames }
