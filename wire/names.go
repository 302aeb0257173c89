package wire

// Names has the addresses of the cluster's names: n3 and .3 for node 3, master, and self.
type Names struct {
	_msgpack struct{} `msgpack:",as_array"`

	Node   NodeID // the receiver: self; -1: the front end
	Addr   string // of self
	Master string // of the front end, as the receiver reaches it
	Nodes  []byte // all nodes that have an address: lines "NUMBER ADDRESS", deflated (RFC 1951)

	// Partial means that the master does not know all addresses yet: those of nodes that are not in
	// Nodes stay unchanged.
	Partial bool
	Digest  uint64 // of everything except Node and Addr; never 0
}

// Type implements [Message].
func (*Names) Type() Type { return TypeNames }

// AwaitNames waits until the digest of Names differs from After.
type AwaitNames struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	After   uint64 // 0: not known
}

// Type implements [Message].
func (*AwaitNames) Type() Type { return TypeAwaitNames }
