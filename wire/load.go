package wire

// Sample asks a slave how busy its machine is.
type Sample struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*Sample) Type() Type { return TypeSample }

// Sampled answers Sample: what proc_loadavg(5) and proc_meminfo(5) say.
type Sampled struct {
	_msgpack struct{} `msgpack:",as_array"`

	Averages  [3]uint32 // of 1, 5 and 15 minutes, in hundredths
	Running   uint32    // threads that run or could
	Threads   uint32
	Memory    uint64 // bytes
	Available uint64
	Swap      uint64
	SwapFree  uint64
	Uptime    uint64 // seconds
}

// Type implements [Message].
func (*Sampled) Type() Type { return TypeSampled }

// ListLoads asks how busy nodes are.
type ListLoads struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16
	Nodes   []NodeID // none: all
}

// Type implements [Message].
func (*ListLoads) Type() Type { return TypeListLoads }

// NodeLoad is how busy a node is.
type NodeLoad struct {
	_msgpack struct{} `msgpack:",as_array"`

	ID    NodeID
	Errno uint32 // why that is not known; 0: it is
	Load  *Sampled
}

// LoadList answers ListLoads.
type LoadList struct {
	_msgpack struct{} `msgpack:",as_array"`

	Nodes []NodeLoad
}

// Type implements [Message].
func (*LoadList) Type() Type { return TypeLoadList }
