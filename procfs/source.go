package procfs

import (
	"context"
	"io/fs"

	"bproc/wire"
)

// Source provides what the nodes know. Its texts are as a reader on the front end shall see them:
// process numbers are the cluster's, start times are ticks since the front end was started. Paths
// are relative to /proc/PID or to /proc of the node, without "." and "..".
//
// Its methods may be called concurrently. Each returns when ctx is done at the latest. Errors carry
// an errno if the node had one, for example ENOENT, ESRCH or EACCES. A node that does not answer in
// time does not delay the others: it is left out of a Refresh, and its last data stay.
type Source interface {
	// Refresh tells what has changed since the last call. All nodes are asked at the same time.
	// With now, their data are as of this call, else they may be slightly older. Changes are passed
	// to take as they arrive, before Refresh returns.
	Refresh(ctx context.Context, now bool, take func(Changes)) error

	// Read returns the content of a file below /proc/PID. What it and the following methods return
	// is what the user may see for whom they are called ([Asker]). It is ESRCH if the number has
	// passed to another process.
	Read(ctx context.Context, of *Process, path string) ([]byte, error)
	// Link returns the text of a symbolic link below /proc/PID.
	Link(ctx context.Context, of *Process, path string) (string, error)
	// List returns the entries of a directory below /proc/PID.
	List(ctx context.Context, of *Process, path string) ([]Entry, error)

	// Nodes returns the nodes of the cluster in order.
	Nodes(ctx context.Context) ([]Node, error)
	// ReadNode returns the content of a file below /proc of a node.
	ReadNode(ctx context.Context, node wire.NodeID, path string) ([]byte, error)
	// ListNode returns the entries of a directory below /proc of a node.
	ListNode(ctx context.Context, node wire.NodeID, path string) ([]Entry, error)
}

// Changes are the changes in a cluster.
type Changes struct {
	Changed []Process  // new processes, and all processes that differ
	Ended   []wire.PID // processes that have ended, or are no longer on a node
}

// Process has the files that programs read of each process: those of these names in /proc/PID
// (proc_pid_stat(5), ...), in the form that the kernel gives them. Read fetches what is nil.
// Neither the receiver nor the Source writes to the texts.
type Process struct {
	PID  wire.PID
	Node wire.NodeID // wire.FrontEnd: it is on no node

	// Start is the start time by which its node tells it from others that have had its number; 0:
	// Read takes any process with the number.
	Start uint64

	// Here means that it is in the real procfs, too, which has everything that is missing here.
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
	Threads []Thread // nil: only the first thread, whose texts are those of the process
}

// Thread has the files below /proc/PID/task/TID that every user may read; nil: fetched by Read.
type Thread struct {
	TID    wire.PID
	Stat   []byte
	Status []byte
}

// Entry is a name in a directory.
type Entry struct {
	Name   string
	Type   fs.FileMode // type bits only
	Target string      // of a symbolic link; empty: fetched by Link
}

// Node is a node as /proc/bproc/nodes shows it.
type Node struct {
	ID    wire.NodeID
	State string // as bpstat(1) prints it: "up", "down", ...
}
