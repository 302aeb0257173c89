package file

import (
	"time"

	"bproc/internal/job/life"
	"bproc/nodeset"
)

// Job is what a job file says, with the defaults in place.
type Job struct {
	Nodes     nodeset.Set // empty: the file names none
	Autostart bool        // its processes are started when one of them comes up
	Processes []Process   // all on the same node
}

// Process is a process of a job. Where 0 or an empty value is not possible, it says that the file
// does not have the key.
type Process struct {
	Name       string
	Executable string // a path, or a name to look for in PATH
	Args       []string
	Env        map[string]string
	Workdir    string

	Hooks        Hooks
	Capabilities []string // as in the file: without CAP_
	Limits       Limits

	EphemeralDisk     bool
	PersistentDisk    bool
	AdditionalVolumes []Volume
	Unsafe            Unsafe

	Logs Logs

	ShutdownSignal  Signal
	ShutdownTimeout time.Duration
	Restart         life.Rule

	line int // where it is in the file
}

// Hooks are programs that are run for a process.
type Hooks struct {
	PreStart string // an absolute path
}

// Limits are what a process with all of its children may use. 0: there is no limit, but for core files.
type Limits struct {
	Memory       uint64 // bytes
	OpenFiles    uint64
	Processes    uint64
	CoreFileSize uint64 // bytes; 0: no core files
}

// Logs say when the logs of a process are begun anew.
type Logs struct {
	MaxSize uint64 // bytes of one; 0: never
	Keep    uint64 // how many former ones are kept
}

// DefaultKeep is how many former logs are kept.
const DefaultKeep = 5

// Volume is a directory of the node that a process sees.
type Volume struct {
	Path            string // in Unsafe a pattern, see [path.Match]
	Writable        bool
	AllowExecutions bool
	MountOnly       bool // it is not made if it is missing
	Shared          bool // mounts below it are seen on both sides
}

// Unsafe lessens what a process is isolated by.
type Unsafe struct {
	Privileged          bool
	UnrestrictedVolumes []Volume
	HostPIDNamespace    bool
}

// Signal is the signal that asks a process to end.
type Signal string

const (
	TERM Signal = "TERM"
	INT  Signal = "INT"
)

// DefaultShutdownTimeout is how long a process has to end after its [Signal].
const DefaultShutdownTimeout = 20 * time.Second

// process is one with the defaults.
func process(line int) Process {
	return Process{line: line, Logs: Logs{Keep: DefaultKeep}, ShutdownSignal: TERM, ShutdownTimeout: DefaultShutdownTimeout, Restart: life.Rule{When: life.No}}
}
