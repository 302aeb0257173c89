package wire

// InitReady is the first frame of the init of a process space to a daemon that has connected.
type InitReady struct {
	_msgpack struct{} `msgpack:",as_array"`

	// PIDs are init's living children, and launched ones whose end follows in an InitStatus.
	PIDs   []PID
	Stored uint32 // number of InitStored that follow

	// Starting are those of PIDs whose launch, asked for by a former daemon, is not over.
	// InitLaunched follows, with the frame number 0.
	Starting []PID
}

// Type implements [Message].
func (*InitReady) Type() Type { return TypeInitReady }

// InitLaunch starts a process. The descriptors of its streams come with the frame as ancillary data
// (unix(7), SCM_RIGHTS), in the order of Stdio.
type InitLaunch struct {
	_msgpack struct{} `msgpack:",as_array"`

	Spawn Spawn
	Tasks bool // the last descriptor is the cgroup.procs file of the process's first cgroup

	// View is the mount point of the view that the process sees as /proc, in a mount namespace of
	// its own; empty: it sees init's /proc.
	View string
}

// Type implements [Message].
func (*InitLaunch) Type() Type { return TypeInitLaunch }

// InitLaunched answers InitLaunch. One that reports a failure is also sent to each new daemon, with
// the frame number 0, until InitForget.
type InitLaunched struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID   PID
	Stage Stage // 0: the process runs
	Errno uint32
}

// Type implements [Message].
func (*InitLaunched) Type() Type { return TypeInitLaunched }

// InitGroup creates a process group of the front end in a session of the space, so that the
// session's processes can join it.
type InitGroup struct {
	_msgpack struct{} `msgpack:",as_array"`

	SID  PID
	PGID PID
}

// Type implements [Message].
func (*InitGroup) Type() Type { return TypeInitGroup }

// InitSync is answered when all frames before it have taken effect.
type InitSync struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*InitSync) Type() Type { return TypeInitSync }

// InitDone answers the request with the same number.
type InitDone struct {
	_msgpack struct{} `msgpack:",as_array"`

	Errno uint32 // 0: done
}

// Type implements [Message].
func (*InitDone) Type() Type { return TypeInitDone }

// InitSignal sends a signal to a process of the space.
type InitSignal struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID  PID
	Info []byte // siginfo_t, 128 bytes
	Seq  uint64 // as in Signal: init does not send it twice; 0: no check
	Boot uint64 `since:"1"`
}

// Type implements [Message].
func (*InitSignal) Type() Type { return TypeInitSignal }

// InitCursor puts the allocation cursor of the space before Next.
type InitCursor struct {
	_msgpack struct{} `msgpack:",as_array"`

	Next PID
}

// Type implements [Message].
func (*InitCursor) Type() Type { return TypeInitCursor }

// InitStatus reports that a launched process has ended, stopped or continued, with its status from
// wait4(2).
type InitStatus struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Status uint32
	Usage  *Usage `since:"1"` // of a process that has ended

	// WithNode says that it was killed with all processes of the space: by InitKillAll, or at the
	// deadline.
	WithNode bool `since:"1"`
}

// Type implements [Message].
func (*InitStatus) Type() Type { return TypeInitStatus }

// InitKillAll ends every process of the space except init.
type InitKillAll struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*InitKillAll) Type() Type { return TypeInitKillAll }

// InitStore gives init descriptors to keep under a name. They replace those under the same name,
// and are sent to the next daemon.
type InitStore struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name string
}

// Type implements [Message].
func (*InitStore) Type() Type { return TypeInitStore }

// InitDrop makes init close the descriptors under a name.
type InitDrop struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name string
}

// Type implements [Message].
func (*InitDrop) Type() Type { return TypeInitDrop }

// InitStored returns the descriptors under one name. They follow InitReady.
type InitStored struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name string
}

// Type implements [Message].
func (*InitStored) Type() Type { return TypeInitStored }

// InitForget says that the ends or failed launches of children are known where they must be. Until
// then init reports them to each new daemon. A launch with the same number has the same effect.
type InitForget struct {
	_msgpack struct{} `msgpack:",as_array"`

	PIDs []PID
}

// Type implements [Message].
func (*InitForget) Type() Type { return TypeInitForget }

// InitDeadline sets the time at which init ends every process of the space except itself, unless
// another InitDeadline comes before.
type InitDeadline struct {
	_msgpack struct{} `msgpack:",as_array"`

	At int64 // nanoseconds of CLOCK_BOOTTIME; 0: never
}

// Type implements [Message].
func (*InitDeadline) Type() Type { return TypeInitDeadline }

// InitFence sets the numbers that the kernel may give. If the daemon does not move the allocation
// cursor, init puts it back to First before it reaches End.
type InitFence struct {
	_msgpack struct{} `msgpack:",as_array"`

	First, End PID // End is the first number that it must not give; 0: no fence
}

// Type implements [Message].
func (*InitFence) Type() Type { return TypeInitFence }

// ShadowName, the number of the process and that of the user, separated by spaces, form the name
// under which init keeps the descriptor of a shadow.
const ShadowName = "shadow"

// InitShadow makes a process of the space that stands for a process elsewhere, so that a descriptor
// of it can exist (pidfd_open(2)). It has a number of its own. The daemon ends it.
type InitShadow struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID PID    // of the process elsewhere
	UID uint32 `since:"1"` // the user that asked for it
}

// Type implements [Message].
func (*InitShadow) Type() Type { return TypeInitShadow }

// InitHangUp sends SIGHUP to all processes of a session, and SIGCONT to those that are stopped.
type InitHangUp struct {
	_msgpack struct{} `msgpack:",as_array"`

	SID PID
}

// Type implements [Message].
func (*InitHangUp) Type() Type { return TypeInitHangUp }
