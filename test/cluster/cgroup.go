package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// hierarchy is a mounted control group hierarchy of the host.
type hierarchy struct {
	Path string // mount point
	V2   bool
	Data string // mount options that name a version 1 hierarchy
}

// hierarchies returns the mounted hierarchies. Hosts have version 2, version 1, or both.
func hierarchies() ([]hierarchy, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, err
	}
	var all []hierarchy
	for _, m := range mounts {
		all = append(all, hierarchy{Path: m.Mountpoint, V2: m.FSType == "cgroup2", Data: v1Options(m.VFSOptions)})
	}
	if len(all) == 0 {
		return nil, errors.New("no control group hierarchy is mounted (/sys/fs/cgroup)")
	}
	return all, nil
}

// v1Options returns the options that select a version 1 hierarchy.
func v1Options(options string) string {
	var keep []string
	for _, o := range strings.Split(options, ",") {
		switch {
		case strings.HasPrefix(o, "name="):
			keep = append(keep, "none", o)
		case o == "rw", o == "ro", o == "xattr", o == "clone_children", o == "noprefix",
			strings.HasPrefix(o, "release_agent="), strings.HasPrefix(o, "cpuset_v2_mode"):
		default:
			keep = append(keep, o)
		}
	}
	return strings.Join(keep, ",")
}

// makeGroup makes the control group name below the site's in h.
func (s *site) makeGroup(h hierarchy, name string) error {
	parent := filepath.Join(h.Path, s.id)
	for _, dir := range []string{parent, filepath.Join(parent, name)} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if h.V2 {
			continue
		}
		// A version 1 cpuset accepts no process before its two sets are filled.
		for _, set := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), set))
			if err != nil {
				continue // another controller
			}
			if err := os.WriteFile(filepath.Join(dir, set), value, 0); err != nil {
				return err
			}
		}
	}
	if h.V2 {
		delegate(parent)
	}
	return nil
}

// realtimePatience is how long a share of real time that others hold is waited for: the kernel counts
// that of a removed group until it frees the group.
const realtimePatience = 10 * time.Second

// giveRealtime lets processes in the control group name have a real-time policy, if version 1 has
// shares of real time (sched-rt-group.rst). Where other groups of the host keep what there is, it
// says so, and the nodes go without, as bproc does on such a host.
func (s *site) giveRealtime(h hierarchy, name string) error {
	const (
		share   = "cpu.rt_runtime_us" // of a second
		site    = "330000"
		machine = "110000" // twice the share of a space: a removed group counts for a while
	)
	parent := filepath.Join(h.Path, s.id)
	if _, err := os.Stat(filepath.Join(parent, share)); err != nil {
		return nil // another controller, or a kernel without such shares
	}
	for deadline := time.Now().Add(realtimePatience); ; time.Sleep(20 * time.Millisecond) {
		err := os.WriteFile(filepath.Join(parent, share), []byte(site), 0)
		if err == nil {
			err = os.WriteFile(filepath.Join(parent, name, share), []byte(machine), 0)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINVAL):
			return fmt.Errorf("share of real time: %w", err)
		case time.Now().After(deadline):
			fmt.Fprintf(os.Stderr, "%s has no share of real time: %v\n", name, err)
			return nil
		}
	}
}

// delegate enables the controllers of the version 2 group dir for its children. On hosts where the
// group has no controllers it does nothing.
func delegate(dir string) {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, c := range strings.Fields(string(controllers)) {
		// One by one: an unavailable controller must not prevent the others.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0)
	}
}

// groupDirs returns the directory of group name in each hierarchy.
func (s *site) groupDirs(name string) []string {
	dirs := make([]string, 0, len(s.groups))
	for _, h := range s.groups {
		dirs = append(dirs, filepath.Join(h.Path, s.id, name))
	}
	return dirs
}

// removeGroup kills the processes in group dir and below, and removes the groups. It waits for the
// kernel, which frees a group some time after its last process has ended.
func removeGroup(dir string, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		err := removeGroupOnce(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove control group: %w", err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func removeGroupOnce(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroupOnce(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	thaw(dir)
	pids, err := members(dir)
	if err != nil {
		return err
	}
	for _, field := range strings.Fields(string(pids)) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err == nil && pid > 0 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended, as wanted
		}
	}
	return os.Remove(dir)
}

// members returns the processes of a group. A threaded group of version 2 lists only threads
// (cgroups(7)), whose numbers also serve for a signal to their processes.
func members(dir string) ([]byte, error) {
	pids, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, unix.EOPNOTSUPP) {
		return os.ReadFile(filepath.Join(dir, "cgroup.threads"))
	}
	return pids, err
}

// thaw lets frozen processes die: SIGKILL does not wake them in version 1.
func thaw(dir string) {
	_ = os.WriteFile(filepath.Join(dir, "freezer.state"), []byte("THAWED"), 0)
	_ = os.WriteFile(filepath.Join(dir, "cgroup.freeze"), []byte("0"), 0)
}
