package space

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Freeze holds the processes of the space, bpinit too (cgroup freezer): requests to it are carried
// out after Thaw. Most processes are held when Freeze returns, the others as soon as they can be. A
// process that waits in a system call for the front end is held when it has the answer.
// libcontainer's Pause requires that all are held, and gives up otherwise.
func (s *Space) Freeze() error { return s.setFreezer("FROZEN", "1") }

// Thaw lets the processes go on. A space that is not frozen stays as it is.
func (s *Space) Thaw() error { return s.setFreezer("THAWED", "0") }

// Frozen reports whether all processes are held, after Freeze.
func (s *Space) Frozen() (bool, error) {
	dir, unified, err := s.freezer()
	if err != nil {
		return false, err
	}
	file, word := "freezer.state", "FROZEN\n"
	if unified {
		file, word = "cgroup.events", "frozen 1\n"
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return false, fmt.Errorf("freezer of space %s: %w", s.cfg.Name, err)
	}
	return strings.Contains(string(text), word), nil
}

// setFreezer writes v1 or v2 according to the version of the cgroups:
// Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, cgroup-v2.rst.
func (s *Space) setFreezer(v1, v2 string) error {
	dir, unified, err := s.freezer()
	if err != nil {
		return err
	}
	file, text := "freezer.state", v1
	if unified {
		file, text = "cgroup.freeze", v2
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
		return fmt.Errorf("freezer of space %s: %w", s.cfg.Name, err)
	}
	return nil
}

// freezer returns the cgroup of the space's freezer, and whether it is of version 2.
func (s *Space) freezer() (dir string, unified bool, err error) {
	state, err := s.container.State()
	if err != nil {
		return "", false, fmt.Errorf("freezer of space %s: %w", s.cfg.Name, err)
	}
	if dir := state.CgroupPaths["freezer"]; dir != "" {
		return dir, false, nil
	}
	return state.CgroupPaths[""], true, nil
}

// Kill sends SIGKILL to a process of the space without using init, which Freeze holds with the
// others. A process that is gone is no error.
func (s *Space) Kill(pid wire.PID) error {
	fd, err := unix.Openat(int(s.proc.Fd()), pid.String(), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // also accepts a directory of procfs
		unix.Close(fd)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill %d in space %s: %w", pid, s.cfg.Name, err)
	}
	return nil
}
