package wire

// InitReady is the first frame of the init of a process space to a daemon that
// has connected to it.
type InitReady struct {
	_msgpack struct{} `msgpack:",as_array"`

	// PIDs are the children of init that are alive, and launched ones whose end follows in
	// an InitStatus.
	PIDs   []PID
	Stored uint32 // how many InitStored follow

	// Starting are those of PIDs whose launch a former daemon has asked for and that
	// is not over. InitLaunched follows, with the frame number 0.
	Starting []PID
}

// Type implements [Message].
func (*InitReady) Type() Type { return TypeInitReady }

// InitLaunch starts a process. The descriptors that are streams come with the
// frame as ancillary data (unix(7), SCM_RIGHTS), in the order of Stdio.
type InitLaunch struct {
	_msgpack struct{} `msgpack:",as_array"`

	Spawn Spawn
	Tasks bool // the last descriptor is the cgroup.procs file of the cgroup that the process begins in

	// View is where the view is mounted that the process sees as /proc, in a mount
	// namespace of its own; empty: it sees what init sees.
	View string
}

// Type implements [Message].
func (*InitLaunch) Type() Type { return TypeInitLaunch }

// InitLaunched answers InitLaunch. One that says that there is no process is also
// told to each new daemon, with the frame number 0, until InitForget.
type InitLaunched struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID   PID
	Stage Stage // 0: the process runs
	Errno uint32
}

// Type implements [Message].
func (*InitLaunched) Type() Type { return TypeInitLaunched }

// InitGroup makes a process group of the front end exist in a session of the
// space, so that its processes can join it.
type InitGroup struct {
	_msgpack struct{} `msgpack:",as_array"`

	SID  PID
	PGID PID
}

// Type implements [Message].
func (*InitGroup) Type() Type { return TypeInitGroup }

// InitSync is answered when all frames before it have had their effect.
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
	Seq  uint64 // as in Signal: init does not send it twice; 0: it does
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

// InitStatus reports a process that was launched and has ended, stopped or goes on, with
// its status as wait4(2) gave it.
type InitStatus struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID    PID
	Status uint32
	Usage  *Usage `since:"1"` // of one that has ended
}

// Type implements [Message].
func (*InitStatus) Type() Type { return TypeInitStatus }

// InitKillAll ends every process of the space but init.
type InitKillAll struct {
	_msgpack struct{} `msgpack:",as_array"`
}

// Type implements [Message].
func (*InitKillAll) Type() Type { return TypeInitKillAll }

// InitStore gives init descriptors to keep under a name, in place of those that it
// has under this name. They come back to the next daemon.
type InitStore struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name string
}

// Type implements [Message].
func (*InitStore) Type() Type { return TypeInitStore }

// InitDrop has init close the descriptors of a name.
type InitDrop struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name string
}

// Type implements [Message].
func (*InitDrop) Type() Type { return TypeInitDrop }

// InitStored brings the descriptors of a name: of each, right after InitReady.
type InitStored struct {
	_msgpack struct{} `msgpack:",as_array"`

	Name string
}

// Type implements [Message].
func (*InitStored) Type() Type { return TypeInitStored }

// InitForget says that the ends of launched children, or that their launches failed,
// are known to who must know. Until then init tells each new daemon again. A launch
// with the same number says it, too.
type InitForget struct {
	_msgpack struct{} `msgpack:",as_array"`

	PIDs []PID
}

// Type implements [Message].
func (*InitForget) Type() Type { return TypeInitForget }

// InitDeadline says when init ends every process of the space but itself, unless
// another InitDeadline comes before.
type InitDeadline struct {
	_msgpack struct{} `msgpack:",as_array"`

	At int64 // nanoseconds of CLOCK_BOOTTIME; 0: never
}

// Type implements [Message].
func (*InitDeadline) Type() Type { return TypeInitDeadline }

// InitFence says between which numbers the kernel is to give them. Init puts the
// allocation cursor back to First before it comes to End, if the daemon does not move it.
type InitFence struct {
	_msgpack struct{} `msgpack:",as_array"`

	First, End PID // End is the first that it is not to give; 0: there is no fence
}

// Type implements [Message].
func (*InitFence) Type() Type { return TypeInitFence }

// ShadowName, the number of the process, and that of the user, each behind a space, is the
// name under which init keeps the descriptor of a shadow.
const ShadowName = "shadow"

// InitShadow makes a process of the space that stands for one that is elsewhere, so that
// there can be a descriptor of it (pidfd_open(2)). Its number is not the other's. Who
// asks ends it.
type InitShadow struct {
	_msgpack struct{} `msgpack:",as_array"`

	PID PID    // of the process that is elsewhere
	UID uint32 `since:"1"` // who wants it
}

// Type implements [Message].
func (*InitShadow) Type() Type { return TypeInitShadow }

// InitHangUp sends SIGHUP, and SIGCONT to those that are stopped, to all processes of a
// session.
type InitHangUp struct {
	_msgpack struct{} `msgpack:",as_array"`

	SID PID
}

// Type implements [Message].
func (*InitHangUp) Type() Type { return TypeInitHangUp }
