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
	Home     uint32 // that no other node gets; 0: none
	Borrowed uint32 // of the pool
	Blocks   uint32 // number of its blocks, including that at home
	Short    bool   // it wants more, and none were free
}

// NumberList answers ListNumbers. Nodes are in order of their numbers.
type NumberList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Numbers uint32 // of all nodes
	Home    uint32 // of an expected node, with its gap
	Homes   uint32 // number of such homes that still have room
	Pool    uint32 // given to nodes on demand, with gaps
	Free    uint32 // of the pool
	Nodes   []NodeNumbers
}

// Type implements [Message].
func (*NumberList) Type() Type { return TypeNumberList }
