package wire

// AwaitNodes waits until the digest of the node table differs from After.
type AwaitNodes struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	After   uint64 // 0: not known
}

// Type implements [Message].
func (*AwaitNodes) Type() Type { return TypeAwaitNodes }

// NodesAre answers AwaitNodes.
type NodesAre struct {
	_msgpack struct{} `msgpack:",as_array"`

	Digest uint64 // of the node table without fields that change all the time, such as Procs; never 0
}

// Type implements [Message].
func (*NodesAre) Type() Type { return TypeNodesAre }
