package procevents

import "bproc/wire"

// Kind is the kind of a [Record].
type Kind uint32

// Kinds of records. The numbers are those of bpf/process.c.
const (
	Forked    Kind = 1 // a process was born; threads are not reported
	Execed    Kind = 2 // a process executes another program now
	Exited    Kind = 3 // the last thread of a process has ended; may come twice
	Stopped   Kind = 5 // a process is stopped; may come several times
	Continued Kind = 6 // a stopped process goes on; may come several times
)

// Kinds of notices, which have no order among the records: see [Source.Attend].
const (
	CursorLow Kind = 4 // a task got a number not below the one given to Arm
	Stray     Kind = 7 // a task (PID) of a process (Parent) got a number that Allow does not allow
	Filling   Kind = 8 // the ring of records is half full
)

// Record is what the kernel noted of one process. All numbers are the space's;
// 0 means a process outside of it.
type Record struct {
	Kind    Kind
	PID     wire.PID
	Parent  wire.PID    // Forked: the kernel's parent
	Creator wire.PID    // Forked: the caller of clone; not Parent with CLONE_PARENT
	PGID    wire.PID    // Forked, Execed
	SID     wire.PID    // Forked, Execed
	Status  wire.Status // Exited: of the whole process, as wait4(2) gives it; Stopped: the signal
	User    wire.IDs    // Forked, Execed: in the node's initial user namespace
	Group   wire.IDs    // Forked, Execed: as User
}

func (p *processRecord) record() Record {
	return Record{
		Kind:    Kind(p.Kind),
		PID:     wire.PID(p.Pid),
		Parent:  wire.PID(p.Parent),
		Creator: wire.PID(p.Creator),
		PGID:    wire.PID(p.Pgid),
		SID:     wire.PID(p.Sid),
		Status:  wire.Status(p.Status),
		User:    wire.IDs{Real: p.User.Real, Effective: p.User.Effective, Saved: p.User.Saved},
		Group:   wire.IDs{Real: p.Group.Real, Effective: p.Group.Effective, Saved: p.Group.Saved},
	}
}
