package procfs

import (
	"context"
	"io/fs"

	"bproc/wire"
)

// Source is where the view gets what the nodes know. All its texts are as a reader
// on the front end shall see them: numbers of processes are the cluster's, times of
// start are ticks since the front end was started. Paths are relative to /proc/PID or to
// /proc of the node, without "." and "..".
//
// Its methods may be called at the same time. Each returns when ctx is done at the
// latest. Errors carry an errno where the node had one: ENOENT, ESRCH or EACCES, say.
// A node that does not answer in time costs nobody else the wait: it is left out of a
// Refresh, and its last data stand.
type Source interface {
	// Refresh tells what has changed since the last call. Nodes are asked at the same
	// time. With now, what they say is so as of this call, else it may be a moment old. It
	// is taken as it comes, in calls of take before Refresh returns.
	Refresh(ctx context.Context, now bool, take func(Changes)) error

	// Read returns what is in a file below /proc/PID.
	Read(ctx context.Context, pid wire.PID, path string) ([]byte, error)
	// Link returns the text of a symbolic link below /proc/PID.
	Link(ctx context.Context, pid wire.PID, path string) (string, error)
	// List returns the entries of a directory below /proc/PID.
	List(ctx context.Context, pid wire.PID, path string) ([]Entry, error)

	// Nodes returns the nodes of the cluster in order.
	Nodes(ctx context.Context) ([]Node, error)
	// ReadNode returns what is in a file below /proc of a node.
	ReadNode(ctx context.Context, node wire.NodeID, path string) ([]byte, error)
	// ListNode returns the entries of a directory below /proc of a node.
	ListNode(ctx context.Context, node wire.NodeID, path string) ([]Entry, error)
}

// Changes is what is new in a cluster.
type Changes struct {
	Changed []Process  // new processes, and all of those that are not as they were
	Ended   []wire.PID // processes that are not there any more, or not on a node any more
}

// Process is what programs read of each process: the files of these names in /proc/PID
// (proc_pid_stat(5), ...), in the form that the kernel gives them. What is nil has to be
// asked for by Read. Who gets one must not write to its texts, nor does the Source do
// so later.
type Process struct {
	PID  wire.PID
	Node wire.NodeID // wire.FrontEnd: it is none of a node

	// Here says that it is in the real procfs, too, where all is found that is not here.
	Here bool

	// The owner of /proc/PID on the node: the effective user and group, or root if the
	// process is not dumpable (prctl(2)).
	UID, GID uint32

	Stat    []byte // never nil
	Status  []byte // with a line "BProcNode:"
	Statm   []byte
	Cmdline []byte
	Cgroup  []byte
	Environ []byte   // for the owner and root only
	Threads []Thread // nil: only the first, whose texts are those of the process
}

// Thread is what everybody may read of a thread, below /proc/PID/task/TID; nil: it has to
// be asked for.
type Thread struct {
	TID    wire.PID
	Stat   []byte
	Status []byte
}

// Entry is a name in a directory.
type Entry struct {
	Name   string
	Type   fs.FileMode // type bits only
	Target string      // of a symbolic link; empty: has to be asked for by Link
}

// Node is a node as /proc/bproc/nodes shows it.
type Node struct {
	ID    wire.NodeID
	State string // as bpstat(1) prints it: "up", "down", ...
}
