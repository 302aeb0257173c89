package wire

// ListNumbers asks how process numbers are used.
type ListNumbers struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
}

// Type implements [Message].
func (*ListNumbers) Type() Type { return TypeListNumbers }

// NodeNumbers are the process numbers of a node, without those of gaps.
type NodeNumbers struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID       NodeID
	Home     uint32 // that nobody else gets; 0: none
	Borrowed uint32 // of the pool
	Blocks   uint32 // in how many blocks they are that it has, that at home too
	Short    bool   // it wants more, and there were none
}

// NumberList answers ListNumbers. Nodes are in order of their numbers.
type NumberList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Numbers uint32 // of all nodes
	Home    uint32 // of one that is expected, with its gap
	Homes   uint32 // such homes for which there is room yet
	Pool    uint32 // that nodes get by demand, with gaps
	Free    uint32 // of these
	Nodes   []NodeNumbers
}

// Type implements [Message].
func (*NumberList) Type() Type { return TypeNumberList }
