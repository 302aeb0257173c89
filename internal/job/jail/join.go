package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// shell executes a program beside a running process: in its control group and namespaces, with its
// user and limits.
func shell(s *spec.Spec, c *command) error {
	g, err := findGroup(s)
	if err != nil {
		return err
	}
	proc, err := os.Open(filepath.Join("/proc", s.PID.String()))
	if err != nil {
		return fmt.Errorf("process %d: %w", s.PID, err)
	}
	defer proc.Close()
	spaces := make([]int, 0, len(joined))
	for _, name := range joined {
		fd, err := unix.Openat(int(proc.Fd()), "ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("namespaces of process %d: %w", s.PID, err)
		}
		spaces = append(spaces, fd)
	}
	runtime.GOMAXPROCS(1) // from here on the job's limit of processes counts, see last
	if err := g.join(s); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare root directory: %w", err)
	}
	for _, fd := range spaces {
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("enter the namespaces of process %d: %w", s.PID, err)
		}
	}
	return settle(s, c)
}

// joined are the namespaces of a job, in the order in which they are entered.
var joined = []string{"ipc", "uts", "mnt"}

// join enters the group, after a check that the process is in it.
func (g *group) join(s *spec.Spec) error {
	text, err := os.ReadFile(filepath.Join(g.tasks, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("control group of the job: %w", err)
	}
	if !slices.Contains(strings.Fields(string(text)), s.PID.String()) {
		return fmt.Errorf("process %d is not of the job", s.PID)
	}
	return g.admit()
}
