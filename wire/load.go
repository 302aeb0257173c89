package wire

// Sample asks a slave for the load of its machine.
type Sample struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*Sample) Type() Type { return TypeSample }

// Sampled answers Sample with values of proc_loadavg(5) and proc_meminfo(5).
type Sampled struct {
	_msgpack struct{} `msgpack:",as_array"`

	Averages  [3]uint32 // over 1, 5 and 15 minutes, in hundredths
	Running   uint32    // running or runnable threads
	Threads   uint32
	Memory    uint64 // bytes
	Available uint64
	Swap      uint64
	SwapFree  uint64
	Uptime    uint64 // seconds
}

// Type implements [Message].
func (*Sampled) Type() Type { return TypeSampled }

// ListLoads asks for the load of nodes.
type ListLoads struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Nodes   []NodeID // none: all
}

// Type implements [Message].
func (*ListLoads) Type() Type { return TypeListLoads }

// NodeLoad is the load of a node.
type NodeLoad struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID    NodeID
	Errno uint32 // why it is not known; 0: it is
	Load  *Sampled
}

// LoadList answers ListLoads.
type LoadList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Nodes []NodeLoad
}

// Type implements [Message].
func (*LoadList) Type() Type { return TypeLoadList }
