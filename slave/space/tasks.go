package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
)

// ErrNoTasks is the error when the number of tasks in a space cannot be bounded.
var ErrNoTasks = errors.New("the space has no pids cgroup (CONFIG_CGROUP_PIDS)")

// Tasks is the cgroup that counts and bounds the processes and threads of a space (pids
// controller). Those of one user can be in a cgroup of their own within it, and those of that user
// in a control group of the front end in another one within that.
//
//	.../bproc/NAME                          the container's
//	.../bproc/NAME/space                    all of the space
//	.../bproc/NAME/space/user-UID           processes started for a user, and their descendants
//	.../bproc/NAME/space/user-UID/group-ID  of them: those from a control group of the front end
//
// Where systemd runs, the first is a scope of systemd, which writes its limits again whenever it
// reads its configuration. The cgroups below belong to the scope's owner alone (Delegate= of
// systemd.resource-control(5)).
//
// Destroy removes them all.
type Tasks struct {
	dir     string
	unified bool // version 2
	init    int  // number of bpinit
}

// tasksGroup is the name of the cgroup within the container's.
const tasksGroup = "space"

// enterTasks moves bpinit, which has no children yet, to the cgroup of the space's tasks.
func (s *Space) enterTasks(init int) error {
	outer, err := s.containerTasks()
	if errors.Is(err, ErrNoTasks) {
		return nil
	}
	if err == nil {
		err = outer.enclose(init)
	}
	if err != nil {
		return fmt.Errorf("cgroup of the space's tasks: %w", err)
	}
	return nil
}

// enclose makes a cgroup within another, for all of its processes. In version 2 the outer one must
// be empty before it distributes a controller.
func (t *Tasks) enclose(pid int) error {
	inner := t.file(t.dir, tasksGroup)
	if err := os.Mkdir(inner, 0o755); err != nil {
		return err
	}
	if err := t.write(inner, fileProcs, strconv.Itoa(pid)); err != nil {
		return err
	}
	if t.unified {
		return t.write(t.dir, fileChildren, "+pids")
	}
	return nil
}

// Tasks returns the cgroup of the space's tasks.
func (s *Space) Tasks() (*Tasks, error) {
	t, err := s.containerTasks()
	if err != nil {
		return nil, err
	}
	inner := t.file(t.dir, tasksGroup)
	if _, err := os.Stat(t.file(inner, fileMax)); err == nil { // otherwise a former bpslave has made the space
		t.dir = inner
	}
	return t, nil
}

// containerTasks returns the cgroup of the container.
func (s *Space) containerTasks() (*Tasks, error) {
	state, err := s.container.State()
	if err != nil {
		return nil, fmt.Errorf("cgroups of space %s: %w", s.cfg.Name, err)
	}
	t := &Tasks{dir: state.CgroupPaths["pids"], init: s.initPID}
	if t.dir == "" {
		t.dir, t.unified = state.CgroupPaths[""], true
	}
	if _, err := os.Stat(t.file(t.dir, fileMax)); t.dir == "" || err != nil {
		return nil, ErrNoTasks
	}
	return t, nil
}

// Files of cgroups: Documentation/admin-guide/cgroup-v1/pids.rst, cgroup-v2.rst.
const (
	fileMax      = "pids.max"
	fileCurrent  = "pids.current"
	fileProcs    = "cgroup.procs"
	fileTasks    = "tasks"          // version 1
	fileThreads  = "cgroup.threads" // version 2
	fileType     = "cgroup.type"
	fileChildren = "cgroup.subtree_control"
)

func (t *Tasks) file(dir, name string) string { return filepath.Join(dir, name) }

// Bound bounds the tasks of the space, bpinit's own among them; 0: no bound.
func (t *Tasks) Bound(tasks uint64) error { return t.write(t.dir, fileMax, bound(tasks)) }

// Count returns how many tasks there are.
func (t *Tasks) Count() (int, error) { return t.count(t.dir) }

func (t *Tasks) count(dir string) (int, error) {
	b, err := os.ReadFile(t.file(dir, fileCurrent))
	if err != nil {
		return 0, fmt.Errorf("count tasks: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// TaskUnit names tasks that are bounded together.
type TaskUnit struct {
	UID   uint32
	Group uint64 // control group of the front end; 0: all of the user
}

// Unit returns the file by which a process enters the cgroup of a unit. It makes the cgroup if
// there is none. The caller closes the file.
func (t *Tasks) Unit(u TaskUnit, tasks uint64) (*os.File, error) {
	if err := t.make(u); err != nil {
		return nil, fmt.Errorf("cgroup of user %d: %w", u.UID, err)
	}
	if err := t.BoundUnit(u, tasks); err != nil {
		return nil, err
	}
	return os.OpenFile(t.file(t.unitDir(u), fileProcs), os.O_WRONLY, 0)
}

// BoundUnit bounds the tasks of a unit for which Unit was called; 0: no bound.
func (t *Tasks) BoundUnit(u TaskUnit, tasks uint64) error {
	return t.write(t.unitDir(u), fileMax, bound(tasks))
}

// Remove removes the cgroup of a unit. EBUSY: it has processes.
func (t *Tasks) Remove(u TaskUnit) error { return unix.Rmdir(t.unitDir(u)) }

// Besides returns how many tasks of a unit are not processes of its own: threads other than the
// first of each process, and init's helpers. It counts them only if there are more than more tasks;
// otherwise it returns 0. Zombies are processes.
func (t *Tasks) Besides(u TaskUnit, more uint64) (uint64, error) {
	dir := t.unitDir(u)
	if now, err := t.count(dir); err != nil || uint64(now) <= more {
		return 0, err
	}
	var threads int
	var first []string
	var err error
	if t.unified {
		first, threads, err = t.firstThreads(dir)
	} else {
		var all []string
		if all, err = t.lines(dir, fileTasks); err == nil {
			first, err = t.lines(dir, fileProcs) // afterwards: births in between make the count of threads too small, not too large
		}
		threads = max(0, len(all)-len(first))
	}
	return uint64(threads + t.helpers(first)), err
}

// firstThreads returns the processes of a threaded cgroup, which does not list them, and the number
// of its other threads.
func (t *Tasks) firstThreads(dir string) (first []string, others int, err error) {
	all, err := t.lines(dir, fileThreads)
	for _, line := range all {
		tid, err := strconv.Atoi(line)
		if err != nil {
			return nil, 0, err
		}
		switch fd, err := unix.PidfdOpen(tid, 0); err {
		case nil:
			unix.Close(fd)
			first = append(first, line)
		case unix.ESRCH: // it has just ended
		case unix.EINVAL, unix.ENOENT: // not a first thread (pidfd_open(2))
			others++
		default:
			return nil, 0, err
		}
	}
	return first, others, err
}

// manyProcesses is the number of processes from which on it does not matter which of them are
// helpers.
const manyProcesses = 1000

// helpers returns how many of the processes are init's, by name and program.
func (t *Tasks) helpers(pids []string) (n int) {
	var init, exe unix.Stat_t
	if len(pids) > manyProcesses || unix.Stat(fmt.Sprintf("/proc/%d/exe", t.init), &init) != nil {
		return 0
	}
	for _, pid := range pids {
		comm, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err == nil && string(comm) == standin.Name+"\n" && unix.Stat(filepath.Join("/proc", pid, "exe"), &exe) == nil && exe.Dev == init.Dev && exe.Ino == init.Ino {
			n++
		}
	}
	return n
}

func (t *Tasks) lines(dir, name string) ([]string, error) {
	text, err := os.ReadFile(t.file(dir, name))
	return strings.Fields(string(text)), err
}

func (t *Tasks) unitDir(u TaskUnit) string {
	dir := filepath.Join(t.dir, "user-"+strconv.FormatUint(uint64(u.UID), 10))
	if u.Group != 0 {
		dir = filepath.Join(dir, "group-"+strconv.FormatUint(u.Group, 10))
	}
	return dir
}

// make makes the cgroup of a unit, and that of its user. In version 2 a cgroup with processes of
// its own, as the space's is, can distribute only controllers that count threads, among threaded
// cgroups; pids is such a controller.
func (t *Tasks) make(u TaskUnit) error {
	above, dir := t.dir, t.unitDir(TaskUnit{UID: u.UID})
	if u.Group != 0 {
		if err := t.make(TaskUnit{UID: u.UID}); err != nil {
			return err
		}
		above, dir = dir, t.unitDir(u)
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil || !t.unified {
		return err
	}
	err = errors.Join(t.write(above, fileChildren, "+pids"), t.write(dir, fileType, "threaded"))
	if err != nil {
		return errors.Join(err, unix.Rmdir(dir))
	}
	return nil
}

func (t *Tasks) write(dir, name, text string) error {
	f, err := os.OpenFile(t.file(dir, name), os.O_WRONLY, 0) // never created: the cgroup may be gone
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// maxBound is the largest bound that the kernel accepts: the number of possible process numbers.
const maxBound = 1 << 22

func bound(tasks uint64) string {
	if tasks == 0 || tasks > maxBound {
		return "max"
	}
	return strconv.FormatUint(tasks, 10)
}
