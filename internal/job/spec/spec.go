// Package spec is the description of a process of a job for its node. A [Spec] travels as JSON in
// the environment of the program bpjail, which the front end starts on the node as a remote
// process.
//
//	front end                     node
//	   |  start bpjail ------------> | control group, namespaces, volumes, user, capabilities
//	   |  <------- standard error -- | the reason why that failed; the program is not executed
//	   |  <------- standard error -- | or [Ready]; the program is executed in the same process
//	   |  end of the program         |
//	   |  start bpjail ------------> | the rest of the job is killed, its control group removed
//	   |  <------ standard output -- | [Ended]
package spec

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// DefaultRoot is the root of jobs on the front end and on nodes. Its directory data lasts until a
// node is installed again, and store forever.
const DefaultRoot = "/var/vcap"

// OwnData is the directory below the root that bpjail has on nodes for itself. No job can have its name.
const OwnData = "data/.bproc"

// Packages is the directory below the root with the packages of all jobs. No job is called like it,
// since its directory for data would be the same.
const Packages = "data/packages"

// Environment is the environment variable that contains the Spec.
const Environment = "BPROC_JOB"

// Ready precedes all output of the program on standard error.
const Ready = "\x00ready\n"

// Stale is the only output of bpjail if the node does not have the job's files of Spec.Sums.
const Stale = "files of the job are missing or have changed"

// MaxAnswer bounds an answer of bpjail in bytes. The longest are the [Sums] of a job's files.
const MaxAnswer = 16 << 20

// Action is the task of bpjail.
type Action string

// The actions.
const (
	Run   Action = "run"   // execute the program, isolated
	Files Action = "files" // print the sums of the job's files ([Sums])
	Hook  Action = "hook"  // execute the program in the job's control group, as root or for Ordinary as the user
	Shell Action = "shell" // execute the program beside process PID
	Kill  Action = "kill"  // send Signal to all processes of the control group
	Clear Action = "clear" // kill the rest of the control group and remove it
)

// Spec is the description for bpjail.
type Spec struct {
	Action  Action
	Signal  int
	PID     wire.PID
	Root    string // directory of the jobs
	Job     string
	Process string

	Path    string   // a path, or a name to look up in PATH of Env
	Args    []string `json:"-"` // passed as arguments of bpjail
	Env     []string
	Workdir string

	// Ordinary means that an ordinary user has asked for it. Hooks and files then belong to that
	// user, not root.
	Ordinary bool

	UID    uint32
	GID    uint32
	Groups []uint32

	Capabilities []string // without CAP_
	Privileged   bool     // all capabilities, nothing masked, no system call filter
	AllProcesses bool     // /proc shows more than the job's processes

	Memory       uint64 // bytes, with swap; 0: no limit
	OpenFiles    uint64 // 0: the caller's limit
	Processes    uint64 // 0: no limit
	CoreFileSize uint64

	// Sums and Attributes are of the job's files, which the node must have; see [Sums] and [Split]. A
	// bpjail of another version may not know Attributes.
	Sums, Attributes map[string]string

	Source string // [Spec.Directory] of the files that are about to be copied to the node; "": none are

	Ephemeral  bool
	Persistent bool
	Volumes    []Volume
}

// Volume is a directory of the node that the program sees.
type Volume struct {
	Path       string
	Pattern    bool // Path is a pattern, and every match is a volume
	Writable   bool
	Executable bool
	Make       bool // make it if it is missing
}

// Ended is the final report about a process that has ended.
type Ended struct {
	OOM uint64 // kills by the memory limit since the start
}

// JobDir returns the directory of the job's files.
func (s *Spec) JobDir() string { return filepath.Join(s.Root, "jobs", s.Job) }

// Directory identifies the directory of the job's files on this machine: a node that is also the
// front end has the files themselves.
func (s *Spec) Directory() string {
	var st unix.Stat_t
	if err := unix.Stat(s.JobDir(), &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", procstat.BootID(), st.Dev, st.Ino) // without the id, machines differ by their inodes
}

// Encode returns the variable for the environment of bpjail.
func (s *Spec) Encode() (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("description of the job for its node: %w", err)
	}
	return Environment + "=" + string(b), nil
}

// Decode parses the value of the variable.
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
