package master

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// frontEnd is the kernel of the front end, of which the core asks where a
// process is. It answers at once.
type frontEnd interface {
	Group(pid wire.PID) (wire.PID, error)   // getpgid(2)
	Session(pid wire.PID) (wire.PID, error) // getsid(2)
	Parent(pid wire.PID) (wire.PID, error)
	Signal(pid wire.PID) error            // whether there are such processes: kill(2) with signal 0
	Member(group, session wire.PID) error // whether a group without its leader is of that session; this may take long
	Open(pid wire.PID) (*os.File, error)  // pidfd_open(2), with PIDFD_NONBLOCK
	Owner(pid wire.PID) (uint32, error)
	Root(pid wire.PID) bool             // whether a process is root's by one of its users (credentials(7)), or nobody knows
	Limit(pid wire.PID) (uint64, error) // RLIMIT_NPROC, soft (getrlimit(2))
}

// kernel is the kernel that this program runs on.
type kernel struct{}

func (kernel) Group(pid wire.PID) (wire.PID, error) {
	group, err := unix.Getpgid(int(pid))
	return wire.PID(group), err
}

func (kernel) Session(pid wire.PID) (wire.PID, error) {
	session, err := unix.Getsid(int(pid))
	return wire.PID(session), err
}

func (kernel) Parent(pid wire.PID) (wire.PID, error) { return parentOf(pid) }

func (kernel) Signal(pid wire.PID) error { return unix.Kill(int(pid), 0) }

func (kernel) Open(pid wire.PID) (*os.File, error) {
	fd, err := unix.PidfdOpen(int(pid), unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), fmt.Sprintf("process %d", pid)), nil
}

func (kernel) Owner(pid wire.PID) (uint32, error) {
	var st unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st)
	return st.Uid, err
}

func (kernel) Root(pid wire.PID) bool {
	status, err := readGhost(pid, "status")
	if err != nil {
		return true
	}
	users, err := statusNumbers(status, "Uid:", 10, 4)
	return err != nil || slices.Contains(users, 0)
}

func (kernel) Limit(pid wire.PID) (uint64, error) {
	var limit unix.Rlimit
	if pid <= 0 { // prlimit(2): 0 is the caller
		return 0, unix.ESRCH
	}
	err := unix.Prlimit(int(pid), unix.RLIMIT_NPROC, nil, &limit)
	return limit.Cur, err
}

// Member looks at every process: no call tells the members of a group.
func (k kernel) Member(group, session wire.PID) error {
	proc, err := os.Open("/proc")
	if err != nil {
		return fmt.Errorf("members of group %d: %w", group, err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("members of group %d: %w", group, err)
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if g, err := k.Group(wire.PID(pid)); err != nil || g != group {
			continue
		}
		if s, err := k.Session(wire.PID(pid)); err == nil && s == session {
			return nil
		}
	}
	return unix.EPERM
}
