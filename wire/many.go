package wire

// MaxRuns is the largest number of processes in one RunMany. Each gets a descriptor, and the kernel takes 253 of
// them at a time (unix(7), SCM_RIGHTS).
const MaxRuns = 64

// RunMany asks for the same command on several nodes, like a Run for each of them. All ghosts get the same
// resource limits.
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

// Connections answers RunMany. It comes with descriptors of connections, one for each of the first processes. Each
// is served as if Run had been sent on it. The master has no room for the other processes; a Run for one of them
// gets the reason.
type Connections struct {
	_msgpack struct{} `msgpack:",as_array"`

	Count uint32
}

// Type implements [Message].
func (*Connections) Type() Type { return TypeConnections }
