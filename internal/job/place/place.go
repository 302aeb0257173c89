package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// RootVariable is the environment variable for a root other than [spec.DefaultRoot].
const RootVariable = "BPJOB_ROOT"

// Root returns the directory below which jobs are.
func Root() (string, error) {
	root := os.Getenv(RootVariable)
	if root == "" {
		return spec.DefaultRoot, nil
	}
	if !filepath.IsAbs(root) {
		return "", fmt.Errorf("%s=%s must be an absolute path", RootVariable, root)
	}
	root = filepath.Clean(root)
	for _, hidden := range []string{"/tmp", "/var/tmp"} {
		if root == hidden || strings.HasPrefix(root, hidden+"/") {
			return "", fmt.Errorf("%s=%s: a job has a %s of its own, and would not see its files there", RootVariable, root, hidden)
		}
	}
	return root, nil
}

// jobFile is the path of the job file in the directory of its job.
const jobFile = "config/bpm.yml"

// Job is a job below a root.
type Job struct {
	Root string
	Name string
}

// File returns the path of the job file, Dir that of the directory of the job's files.
func (j Job) File() string { return filepath.Join(j.Dir(), jobFile) }
func (j Job) Dir() string  { return filepath.Join(j.Root, "jobs", j.Name) }

// Open opens the job file. It follows no symbolic link below the directory of the job: the user of
// the job could use a link to change the job's owner.
func (j Job) Open() (*os.File, error) {
	dir, err := unix.Open(j.Dir(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: j.Dir(), Err: err}
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, jobFile, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s: there is a symbolic link below %s", j.File(), j.Dir())
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: j.File(), Err: err}
	}
	// Go registers a nonblocking descriptor with the poller, which the server of a FUSE file system could hold up.
	if err = ownerHolds(fd, j.File()); err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), j.File()), nil
}

// Logs returns the path of the directory of the job's logs, Events that of the log with the events
// of its processes.
func (j Job) Logs() string   { return filepath.Join(j.Root, "sys/log", j.Name) }
func (j Job) Events() string { return filepath.Join(j.Logs(), "bpm.log") }

func (j Job) runDir() string { return filepath.Join(j.Root, "sys/run/bpm", j.Name) }

// Jobs returns the directories of jobs below a root, by name. Some may have no job file: these
// directories are those of users, and nothing in them is looked at.
func Jobs(root string) ([]Job, error) {
	all, err := os.ReadDir(filepath.Join(root, "jobs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var jobs []Job
	for _, dir := range all {
		if dir.IsDir() || dir.Type() == os.ModeSymlink {
			jobs = append(jobs, Job{root, dir.Name()})
		}
	}
	return jobs, nil
}

// Process is a process of a job.
type Process struct {
	Job
	Process string
}

func (p Process) String() string {
	if p.Process == p.Name {
		return p.Name
	}
	return p.Name + "." + p.Process
}

// Started returns all processes below a root that were ever started, by name. They may no longer be
// in a job file.
func Started(root string) ([]Process, error) {
	files, err := filepath.Glob(filepath.Join(root, "sys/run/bpm/*/*.json"))
	if err != nil {
		return nil, err
	}
	all := make([]Process, len(files))
	for i, f := range files {
		all[i] = Process{Job{root, filepath.Base(filepath.Dir(f))}, strings.TrimSuffix(filepath.Base(f), ".json")}
	}
	return all, nil
}

// Output returns the path of a log of the process, "stdout" or "stderr".
func (p Process) Output(stream string) string {
	return filepath.Join(p.Logs(), p.Process+"."+stream+".log")
}

// PIDFile returns the path of the file with the number of the process while it runs.
func (p Process) PIDFile() string { return p.file("pid") }

func (p Process) file(suffix string) string {
	return filepath.Join(p.runDir(), p.Process+"."+suffix)
}
