// Package spec is what a node is told of a process of a job: a [Spec] travels as JSON in the
// environment of the program bpjail, which the front end starts there as a remote process.
//
//	front end                     node
//	   |  start bpjail ------------> | control group, namespaces, volumes, user, capabilities
//	   |  <------- standard error -- | why that failed, and the program is not executed
//	   |  <------- standard error -- | or [Ready], and the program is executed under the same number
//	   |  end of the program         |
//	   |  start bpjail ------------> | what is left of the job is killed, its control group removed
//	   |  <------ standard output -- | [Ended]
package spec

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"bproc/wire"
)

// DefaultRoot is below which jobs are, on the front end and on nodes: in data until a node is installed anew, in store
// for good.
const DefaultRoot = "/var/vcap"

// Environment is the name of the variable that has the Spec.
const Environment = "BPROC_JOB"

// Ready comes before anything that the program says on standard error.
const Ready = "\x00ready\n"

// Stale is what bpjail says, and nothing else, if the node has not the files of the job in Spec.Sums.
const Stale = "files of the job are missing or have changed"

// Action is what bpjail is to do.
type Action string

// The actions.
const (
	Run   Action = "run"   // execute the program, isolated
	Files Action = "files" // print the sums of the job's files ([Sums])
	Hook  Action = "hook"  // execute the program in the job's control group, and as root
	Shell Action = "shell" // execute the program beside the one that has the number PID
	Kill  Action = "kill"  // send Signal to all of the control group
	Clear Action = "clear" // kill what is left in the control group and remove it
)

// Spec is what bpjail is told.
type Spec struct {
	Action  Action
	Signal  int
	PID     wire.PID
	Root    string // below which the directories of jobs are
	Job     string
	Process string

	Path    string   // a path, or a name to look for in PATH of Env
	Args    []string `json:"-"` // are those of bpjail
	Env     []string
	Workdir string

	// Ordinary: an ordinary user has asked for it. Hooks and files are that user's, not root's.
	Ordinary bool

	UID    uint32
	GID    uint32
	Groups []uint32

	Capabilities []string // without CAP_
	Privileged   bool     // all capabilities, nothing masked, no filter of system calls
	AllProcesses bool     // /proc shows more than the job

	Memory       uint64 // bytes, with swap; 0: no limit
	OpenFiles    uint64 // 0: as the caller's
	Processes    uint64 // 0: no limit
	CoreFileSize uint64

	Sums map[string]string // of files of the job, which must be there; see [Sums]

	Ephemeral  bool
	Persistent bool
	Volumes    []Volume
}

// Volume is a directory of the node that the program sees.
type Volume struct {
	Path       string
	Pattern    bool // Path is a pattern, and whatever matches a volume
	Writable   bool
	Executable bool
	Make       bool // if it is missing
}

// Ended is what is left to say of a process when it has ended.
type Ended struct {
	OOM uint64 // kills by the memory limit since the start
}

// JobDir is where the files of the job are.
func (s *Spec) JobDir() string { return filepath.Join(s.Root, "jobs", s.Job) }

// Encode returns the variable for the environment of bpjail.
func (s *Spec) Encode() (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("description of the job for its node: %w", err)
	}
	return Environment + "=" + string(b), nil
}

// Decode reads the value of the variable.
func Decode(value string) (*Spec, error) {
	s := new(Spec)
	if err := json.Unmarshal([]byte(value), s); err != nil {
		return nil, fmt.Errorf("description of the job in %s: %w", Environment, err)
	}
	for _, name := range []string{s.Job, s.Process} {
		if name == "" || name == "." || name == ".." || name != filepath.Base(name) {
			return nil, fmt.Errorf("%q cannot be the name of a job or a process", name)
		}
	}
	if !filepath.IsAbs(s.Root) || filepath.Clean(s.Root) != s.Root {
		return nil, fmt.Errorf("the root of jobs, %q, is not an absolute path", s.Root)
	}
	return s, nil
}
