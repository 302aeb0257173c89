package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoTasks is the error when the number of tasks in a space cannot be bounded.
var ErrNoTasks = errors.New("the space has no pids cgroup (CONFIG_CGROUP_PIDS)")

// Tasks is the cgroup that counts the processes and threads of a space and bounds how
// many there are (pids controller). Those of one user can be in a cgroup of their own
// within it.
//
//	.../bproc/NAME                all of the space
//	.../bproc/NAME/user-UID       those that were started for a user, and their descendants
//
// Destroy removes them all.
type Tasks struct {
	dir     string
	unified bool // version 2
}

// Tasks returns the cgroup of the space's tasks.
func (s *Space) Tasks() (*Tasks, error) {
	state, err := s.container.State()
	if err != nil {
		return nil, fmt.Errorf("cgroups of space %s: %w", s.cfg.Name, err)
	}
	t := &Tasks{dir: state.CgroupPaths["pids"]}
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
	fileType     = "cgroup.type"
	fileChildren = "cgroup.subtree_control"
)

func (t *Tasks) file(dir, name string) string { return filepath.Join(dir, name) }

// Bound bounds the tasks of the space, bpinit's own among them; 0: no bound.
func (t *Tasks) Bound(tasks uint64) error { return t.write(t.dir, fileMax, bound(tasks)) }

// Count returns how many tasks there are.
func (t *Tasks) Count() (int, error) {
	b, err := os.ReadFile(t.file(t.dir, fileCurrent))
	if err != nil {
		return 0, fmt.Errorf("count tasks: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// User returns the file by which a process enters the cgroup of a user, which is made
// if there is none. The caller closes it.
func (t *Tasks) User(uid uint32, tasks uint64) (*os.File, error) {
	dir := t.userDir(uid)
	if err := t.make(dir); err != nil {
		return nil, fmt.Errorf("cgroup of user %d: %w", uid, err)
	}
	if err := t.BoundUser(uid, tasks); err != nil {
		return nil, err
	}
	return os.OpenFile(t.file(dir, fileProcs), os.O_WRONLY, 0)
}

// BoundUser bounds the tasks of a user for whom User was called; 0: no bound.
func (t *Tasks) BoundUser(uid uint32, tasks uint64) error {
	return t.write(t.userDir(uid), fileMax, bound(tasks))
}

func (t *Tasks) userDir(uid uint32) string {
	return filepath.Join(t.dir, "user-"+strconv.FormatUint(uint64(uid), 10))
}

// make makes a cgroup within the space's. In version 2 a cgroup with processes of its
// own, as the space's is, can share out only what counts threads, among threaded
// cgroups; pids is of that kind.
func (t *Tasks) make(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil || !t.unified {
		return err
	}
	err = errors.Join(t.write(t.dir, fileChildren, "+pids"), t.write(dir, fileType, "threaded"))
	if err != nil {
		return errors.Join(err, unix.Rmdir(dir))
	}
	return nil
}

func (t *Tasks) write(dir, name, text string) error {
	f, err := os.OpenFile(t.file(dir, name), os.O_WRONLY, 0) // never made: its cgroup may be gone
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func bound(tasks uint64) string {
	if tasks == 0 {
		return "max"
	}
	return strconv.FormatUint(tasks, 10)
}
