package bpjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bproc/internal/accounts"
	"bproc/internal/job/file"
	"bproc/internal/job/place"
	"bproc/internal/job/spec"
)

// chosen is the process of a job that a command line names.
type chosen struct {
	place   place.Process
	job     *file.Job
	process file.Process
	owner   uint32 // of the job file
	caller  uint32 // the user who asks
	behalf  bool   // the service acts for the caller
	wanted  string // nodes of the command line
	release func() // lets signals act that are held until the supervisor has been started
}

// at returns the place of a process. As with bpm, the default process has the name of its job.
func at(s selection) (place.Process, error) {
	var p place.Process
	if !file.IsName(s.job) {
		return p, fmt.Errorf("%q cannot be the name of a job", s.job)
	}
	process := cmp.Or(s.process, s.job)
	if !file.IsName(process) { // files are named after it, and an ordinary user can make root open them
		return p, fmt.Errorf("%q cannot be the name of a process", process)
	}
	root, err := place.Root()
	if err != nil {
		return p, err
	}
	return place.Process{Job: place.Job{Root: root, Name: s.job}, Process: process}, nil
}

var errNoJob = errors.New("there is no job")

// open opens a job file, and returns its owner, who controls its contents.
func open(j place.Job) (*os.File, uint32, error) {
	f, err := j.Open()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, 0, fmt.Errorf("%w %s: %s is missing", errNoJob, j.Name, j.File())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("job file: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", j.File())
	}
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("job file: %w", err)
	}
	return f, info.Sys().(*syscall.Stat_t).Uid, nil
}

// read reads a job file.
func read(j place.Job) (*file.Job, uint32, error) {
	f, owner, err := open(j)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, file.MaxSize+1))
	if err != nil {
		return nil, 0, fmt.Errorf("job file: %w", err)
	}
	job, err := file.Read(j.File(), text, file.Options{Job: j.Name, Root: j.Root})
	return job, owner, err
}

// choose finds a process in its job file.
func (c *Command) choose(ctx context.Context, s selection) (*chosen, error) {
	p, err := at(s)
	if err == nil {
		err = c.owns(p.Job)
	}
	if err != nil {
		return nil, err
	}
	job, owner, err := read(p.Job)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(job.Processes, func(f file.Process) bool { return f.Name == p.Process })
	if i < 0 {
		return nil, fmt.Errorf("process %q not present in job configuration (%s)", p.Process, p.File())
	}
	ch := &chosen{p, job, job.Processes[i], owner, c.caller, c.behalf, s.nodes, func() {}}
	if c.BPM {
		if ch.wanted, err = ownNode(ctx); err != nil {
			return nil, err
		}
	}
	return ch, ch.permit()
}

// bpmUser is the user of jobs whose files belong to root, if /etc/passwd has such a user.
const bpmUser = "vcap"

// runAs returns the user of the process.
func (c *chosen) runAs() (accounts.User, error) {
	uid := c.owner
	switch {
	case c.process.Unsafe.Privileged:
		uid = 0
	case c.owner == 0:
		if u, err := new(accounts.Finder).User(bpmUser); err == nil {
			return u, nil
		}
	}
	finder := accounts.Finder{Most: 1}
	u, err := finder.UserID(uid)
	if err != nil {
		return u, fmt.Errorf("the owner of %s: %w", c.place.File(), err)
	}
	return u, nil
}

// spec returns the specification for the node.
func (c *chosen) spec() (spec.Spec, error) {
	p := &c.process
	s := spec.Spec{
		Action: spec.Run, Root: c.place.Root, Job: c.place.Name, Process: p.Name,
		Path: p.Executable, Args: p.Args, Workdir: cmp.Or(p.Workdir, c.place.Dir()),
		Capabilities: p.Capabilities, Privileged: p.Unsafe.Privileged, AllProcesses: p.Unsafe.HostPIDNamespace,
		Memory: p.Limits.Memory, OpenFiles: p.Limits.OpenFiles, Processes: p.Limits.Processes, CoreFileSize: p.Limits.CoreFileSize,
		Ephemeral: p.EphemeralDisk, Persistent: p.PersistentDisk, Ordinary: c.caller != 0,
	}
	s.Env = c.environment(p.Env)
	for i, v := range slices.Concat(p.AdditionalVolumes, p.Unsafe.UnrestrictedVolumes) {
		if v.Shared {
			return s, fmt.Errorf("volume %s: volumes cannot be shared: remove the key shared", v.Path)
		}
		s.Volumes = append(s.Volumes, spec.Volume{
			Path: v.Path, Pattern: i >= len(p.AdditionalVolumes), Writable: v.Writable, Executable: v.AllowExecutions, Make: !v.MountOnly && c.caller == 0,
		})
	}
	u, err := c.runAs()
	if err != nil {
		return s, err
	}
	s.UID, s.GID = u.UID, u.GID
	s.Groups, err = groupsOf(&u)
	return s, err
}

// groupsOf returns the groups of a user. For a user of /etc/passwd they are those of /etc/group, so
// that the jobs of the system wait for no directory service.
func groupsOf(u *accounts.User) ([]uint32, error) {
	if _, err := new(accounts.Finder).User(u.Name); err != nil {
		return accounts.GroupsOf(u.Name)
	}
	local := user.User{Username: u.Name, Gid: strconv.FormatUint(uint64(u.GID), 10)}
	ids, err := local.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of user %s: %w", u.Name, err)
	}
	groups := make([]uint32, len(ids))
	for i, id := range ids {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("groups of user %s: %w", u.Name, err)
		}
		groups[i] = uint32(n)
	}
	return groups, nil
}

// environment returns the variables of a process: those that every process has, and those of the
// job file, which take precedence.
func (c *chosen) environment(env map[string]string) []string {
	data := filepath.Join(c.place.Root, "data", c.place.Name)
	all := map[string]string{
		"HOME":   data,
		"LANG":   "en_US.UTF-8",
		"PATH":   c.place.Dir() + "/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.",
		"TMPDIR": filepath.Join(data, "tmp"),
	}
	maps.Copy(all, env)
	list := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// nodes returns the nodes on which the process may run.
func (c *chosen) nodes() (string, error) {
	nodes := cmp.Or(c.wanted, c.job.Nodes.String())
	if strings.TrimSpace(nodes) == "" {
		return "", fmt.Errorf("no nodes given for job %s: use -N, or the key nodes of %s", c.place.Name, c.place.File())
	}
	return nodes, nil
}
