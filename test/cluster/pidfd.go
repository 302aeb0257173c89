package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// PIDFD returns a descriptor of a process (pidfd_open(2)) by its number in the machine. The caller
// closes it.
func (m *Machine) PIDFD(pid int) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return -1, err
	}
	for _, dir := range dirs {
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			continue // it has ended
		}
		// The machine's number is the second one (see [Cmd.PID]); processes of other machines may
		// have it, too.
		if pids := statusInts(string(status), "NSpid:"); len(pids) < 2 || pids[1] != pid || !m.has(dir) {
			continue
		}
		number, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return -1, err
		}
		fd, err := unix.PidfdOpen(number, 0)
		if err != nil {
			return -1, fmt.Errorf("%s: pidfd_open of %d: %w", m.Name, pid, err)
		}
		return fd, nil
	}
	return -1, fmt.Errorf("%s: process %d: %w", m.Name, pid, fs.ErrNotExist)
}

// has reports whether the process with a directory in the host's /proc belongs to the machine.
func (m *Machine) has(dir string) bool {
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	return err == nil && strings.Contains(string(groups)+"/", "/"+m.group+"/")
}

// End is the end of a process.
type End struct {
	Which int // index of the process
	At    time.Time
}

// Ends watches processes by their descriptors until all have ended, and returns their ends in
// order. Processes that are found ended at the same moment count as ended in the opposite order of
// their descriptors.
func Ends(pidfds []int, timeout time.Duration) ([]End, error) {
	var ends []End
	fds := make([]unix.PollFd, len(pidfds))
	for i, fd := range pidfds {
		fds[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	for deadline := time.Now().Add(timeout); len(ends) < len(fds); {
		left := time.Until(deadline)
		if left <= 0 {
			return ends, fmt.Errorf("%d of %d processes have not ended within %v", len(fds)-len(ends), len(fds), timeout)
		}
		_, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return ends, fmt.Errorf("poll: %w", err)
		}
		now := time.Now()
		for i := len(fds) - 1; i >= 0; i-- {
			if fds[i].Revents != 0 {
				ends = append(ends, End{i, now})
				fds[i].Fd, fds[i].Revents = -1, 0 // poll(2) ignores it from now on
			}
		}
	}
	return ends, nil
}
