package file

import (
	"time"

	"bproc/internal/job/life"
	"bproc/nodeset"
)

// Job is the contents of a job file, with defaults.
type Job struct {
	Nodes     nodeset.Set // empty if the file names none
	Autostart bool        // start its processes when one of Nodes comes up
	Processes []Process   // all on the same node
}

// Process is a process of a job. Where 0 or an empty value is not valid, it means that the file
// does not have the key.
type Process struct {
	Name       string
	Executable string // a path, or a name to look up in PATH
	Args       []string
	Env        map[string]string
	Workdir    string

	Hooks        Hooks
	Capabilities []string // as in the file, without CAP_
	Limits       Limits

	EphemeralDisk     bool
	PersistentDisk    bool
	AdditionalVolumes []Volume
	Unsafe            Unsafe

	Logs Logs

	ShutdownSignal  Signal
	ShutdownTimeout time.Duration
	Restart         life.Rule

	line int // line of the file
}

// Hooks are programs to run for a process.
type Hooks struct {
	PreStart string // an absolute path
}

// Limits bound a process with all of its children. 0 means no limit, except for core files.
type Limits struct {
	Memory       uint64 // bytes
	OpenFiles    uint64
	Processes    uint64
	CoreFileSize uint64 // bytes; 0: no core files
}

// Logs say when new logs of a process begin.
type Logs struct {
	MaxSize uint64 // bytes of one log; 0: no limit
	Keep    uint64 // number of former logs to keep
}

// DefaultKeep is the default number of former logs.
const DefaultKeep = 5

// Volume is a directory of the node that a process sees.
type Volume struct {
	Path            string // in Unsafe a pattern, see [path.Match]
	Writable        bool
	AllowExecutions bool
	MountOnly       bool // do not make it if it is missing
	Shared          bool // propagate mounts below it in both directions
}

// Unsafe reduces the isolation of a process.
type Unsafe struct {
	Privileged          bool
	UnrestrictedVolumes []Volume
	HostPIDNamespace    bool
}

// Signal is a signal that asks a process to end.
type Signal string

const (
	TERM Signal = "TERM"
	INT  Signal = "INT"
)

// DefaultShutdownTimeout is how long a process has to end after its [Signal].
const DefaultShutdownTimeout = 20 * time.Second

// process returns a process with the defaults.
func process(line int) Process {
	return Process{line: line, Logs: Logs{Keep: DefaultKeep}, ShutdownSignal: TERM, ShutdownTimeout: DefaultShutdownTimeout, Restart: life.Rule{When: life.No}}
}
