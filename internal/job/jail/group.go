package jail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"bproc/internal/job/spec"
)

// group is the control group of a process of a job. In version 1 it is below the group of bpjail in
// the hierarchies of pids, memory and cpu. In that of pids bpjail may be in a group of its user, or
// of a control group of the front end, below that of the process space. In version 2 it is a sibling of the
// group in which the space counts its tasks, because that group cannot enable the memory controller
// (package slave/space).
type group struct {
	tasks   string // counts its tasks and lists them; version 1: wherever there is one
	next    string // where the next one is made
	memory  string // empty: memory cannot be limited
	cpu     string // gives each job the same share of the processors; empty: each task has a share
	parent  string // version 2: enables controllers
	unified bool
}

// controllers is the mount point of control groups.
const controllers = "/sys/fs/cgroup"

// findGroup returns the group of a process, which may not exist.
func findGroup(s *spec.Spec) (*group, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("control groups of this process: %w", err)
	}
	return groupBelow(controllers, string(own), groupName(s))
}

// groupBelow is findGroup for bpjail in its own groups, below a mount point.
func groupBelow(controllers, own, name string) (*group, error) {
	paths := ownGroups(own)
	g := new(group)
	if dir, ok := paths["pids"]; ok {
		g.next = filepath.Join(controllers, "pids", dir, name)
		g.tasks = existing(filepath.Join(controllers, "pids", userGroups.ReplaceAllString(dir, "")), name, g.next)
		if dir, ok := paths["memory"]; ok {
			g.memory = filepath.Join(controllers, "memory", dir, name)
		}
		if dir, ok := paths["cpu"]; ok {
			g.cpu = filepath.Join(controllers, "cpu", dir, name)
		}
		return g, nil
	}
	dir, ok := paths[""]
	if !ok {
		return nil, errors.New("the node has no control groups that count tasks (CONFIG_CGROUP_PIDS)")
	}
	// bpjail may be in a group of its user below that of the space; such groups are threaded.
	space := filepath.Join(controllers, dir)
	for isThreaded(space) {
		space = filepath.Dir(space)
	}
	g.unified = true
	g.parent = filepath.Dir(space)
	g.tasks = filepath.Join(g.parent, name)
	g.memory, g.next = g.tasks, g.tasks
	return g, nil
}

// userGroups are the groups below that of the space in the path of a group (package slave/space).
var userGroups = regexp.MustCompile(`/user-\d+(/group-\d+)?$`)

// existing returns the group of that name in or below the group of the space. Another bpjail has made
// it, which may have been in another group than this one. If there is none, it returns other.
func existing(space, name, other string) string {
	for _, between := range []string{"", "user-*", "user-*/group-*"} {
		found, _ := filepath.Glob(filepath.Join(space, between, name)) // the pattern is correct
		if len(found) > 0 {
			return found[0]
		}
	}
	return other
}

// groupName returns the name of the group. Jobs below another root may have the same names as jobs
// below the default root.
func groupName(s *spec.Spec) string {
	name := "job-" + s.Job + ":" + s.Process
	if s.Root != spec.DefaultRoot {
		sum := sha256.Sum256([]byte(s.Root))
		name += ":" + hex.EncodeToString(sum[:8])
	}
	return name
}

func isThreaded(dir string) bool {
	kind, err := os.ReadFile(filepath.Join(dir, "cgroup.type"))
	return err == nil && string(kind) == "threaded\n"
}

// ownGroups parses /proc/self/cgroup. It returns the path for each controller; the name "" stands
// for version 2.
func ownGroups(text string) map[string]string {
	paths := make(map[string]string)
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			paths[name] = parts[2]
		}
	}
	return paths
}

// enter makes an empty group and enters it.
func (g *group) enter(s *spec.Spec) error {
	if err := g.remove(); err != nil {
		return err
	}
	g.tasks = g.next
	if err := g.make(); err != nil {
		return fmt.Errorf("control group of the job: %w", err)
	}
	if err := g.limit(s); err != nil {
		return err
	}
	return g.admit()
}

// admit enters the group.
func (g *group) admit() error {
	for _, dir := range g.dirs() {
		if err := write(dir, "cgroup.procs", "0"); err != nil {
			return fmt.Errorf("enter the control group of the job: %w", err)
		}
	}
	return nil
}

func (g *group) dirs() []string {
	dirs := []string{g.tasks}
	for _, dir := range []string{g.memory, g.cpu} {
		if dir != "" && dir != g.tasks {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (g *group) make() error {
	if g.unified {
		if err := write(g.parent, "cgroup.subtree_control", "+pids"); err != nil {
			return err
		}
		_ = write(g.parent, "cgroup.subtree_control", "+memory") // without it, setting a memory limit fails for lack of the file
		_ = write(g.parent, "cgroup.subtree_control", "+cpu")    // without it, each task has a share
	}
	for _, dir := range g.dirs() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// bound opens the file with the limit of processes. The limit is set right before the program is
// executed: until then the Go runtime may start threads, and ends if it cannot.
func (g *group) bound() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(g.tasks, "pids.max"), os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("limit of processes: %w", err)
	}
	return f, nil
}

// limit sets the limit of memory of the group.
func (g *group) limit(s *spec.Spec) error {
	if s.Memory == 0 {
		return nil
	}
	if g.memory == "" {
		return errors.New("limit of memory: the node has no control groups that limit memory (CONFIG_MEMCG)")
	}
	bytes := strconv.FormatUint(s.Memory, 10)
	limit, swap, most := "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes // memory plus swap
	if g.unified {
		limit, swap, most = "memory.max", "memory.swap.max", "0"
	}
	if err := write(g.memory, limit, bytes); err != nil {
		return fmt.Errorf("limit of memory: %w", err)
	}
	if err := write(g.memory, swap, most); err != nil && !errors.Is(err, os.ErrNotExist) { // absent if the kernel does not count swap
		return fmt.Errorf("limit of swap: %w", err)
	}
	return nil
}

// oomKills returns how many processes of the group its memory limit has killed.
func (g *group) oomKills() uint64 {
	name := "memory.oom_control"
	if g.unified {
		name = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.memory, name))
	if err != nil {
		return 0 // the group does not limit memory
	}
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) == 2 && f[0] == "oom_kill" {
			n, _ := strconv.ParseUint(f[1], 10, 64) // written by the kernel
			return n
		}
	}
	return 0
}

func write(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0) // without O_CREATE
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}
