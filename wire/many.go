package wire

// MaxRuns is the largest number of processes in one RunMany. Each comes with a descriptor, of which the kernel takes
// 253 at a time (unix(7), SCM_RIGHTS).
const MaxRuns = 64

// RunMany asks for the same command on several nodes, as a Run for each of them would. All ghosts have the same resource
// limits.
type RunMany struct {
	_msgpack struct{} `msgpack:",as_array"`

	Version uint16 // as in Run, like the others of these names
	HangUp  bool
	Command Command
	Report  bool
	Ends    bool

	Runs []OneRun // 2 to MaxRuns
}

// Type implements [Message].
func (*RunMany) Type() Type { return TypeRunMany }

// OneRun is what differs between the processes of a RunMany.
type OneRun struct {
	_msgpack struct{} `msgpack:",as_array"`

	Node   NodeID
	Ghost  PID
	Launch uint64
	Env    []string // comes after Env of the command
}

// Connections answers RunMany. With it come descriptors of connections, one for each of the first processes: all goes on
// there as if Run had been said there. The master has no room for the others; Run says why.
type Connections struct {
	_msgpack struct{} `msgpack:",as_array"`

	Count uint32
}

// Type implements [Message].
func (*Connections) Type() Type { return TypeConnections }
