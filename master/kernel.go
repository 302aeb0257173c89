package master

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/pidmap"
	"bproc/wire"
)

// kernel is the kernel that this program runs on, which knows group, session and parent of a
// process.
type kernel struct{}

func (kernel) group(pid wire.PID) (wire.PID, error) {
	group, err := unix.Getpgid(int(pid))
	return wire.PID(group), err
}

func (kernel) session(pid wire.PID) (wire.PID, error) {
	session, err := unix.Getsid(int(pid))
	return wire.PID(session), err
}

func (kernel) parent(pid wire.PID) (wire.PID, error) { return parentOf(pid) }

// exists returns nil if there is such a process or group: kill(2) with signal 0.
func (kernel) exists(pid wire.PID) error { return unix.Kill(int(pid), 0) }

// firstFree is the lowest number that free chooses. It is above those that a kernel gives only once
// (RESERVED_PIDS).
const firstFree = 1024

// free returns a random number that no process or group has, among those that this kernel gives.
func (k kernel) free() (wire.PID, error) {
	for range 1000 {
		pid := firstFree + rand.N(pidmap.Node-firstFree)
		if errors.Is(k.exists(pid), unix.ESRCH) && errors.Is(k.exists(-pid), unix.ESRCH) {
			return pid, nil
		}
	}
	return 0, unix.EAGAIN
}

// kill sends a signal to a process, which may be a zombie or have ended.
func (kernel) kill(pid wire.PID, sig unix.Signal) { _ = unix.Kill(int(pid), sig) }

// mayJoin returns nil if a process may join a group, which must exist in its session (setpgid(2)).
// The leader of the group tells. If it is gone, a member has to be searched for, which may take
// long: then sure is false.
func (k kernel) mayJoin(pid, group wire.PID) (session wire.PID, sure bool, err error) {
	session, err = k.session(pid)
	if err != nil || group <= 0 || session == 0 || k.exists(-group) != nil {
		return 0, true, unix.EPERM
	}
	if of, err := k.group(group); err == nil && of == group {
		if of, err := k.session(group); err == nil && of == session {
			return session, true, nil
		}
	}
	return session, false, nil
}

func (kernel) open(pid wire.PID) (*os.File, error) {
	fd, err := unix.PidfdOpen(int(pid), unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), fmt.Sprintf("process %d", pid)), nil
}

func (kernel) owner(pid wire.PID) (uint32, error) {
	var st unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st)
	return st.Uid, err
}

func (kernel) root(pid wire.PID) bool {
	status, err := readGhost(pid, "status")
	if err != nil {
		return true
	}
	users, err := statusNumbers(status, "Uid:", 10, 4)
	return err != nil || slices.Contains(users, 0)
}

func (kernel) limit(pid wire.PID) (uint64, error) {
	var limit unix.Rlimit
	if pid <= 0 { // prlimit(2): 0 is the caller
		return 0, unix.ESRCH
	}
	err := unix.Prlimit(int(pid), unix.RLIMIT_NPROC, nil, &limit)
	return limit.Cur, err
}

// member returns nil if a group without its leader belongs to a session. It looks at every process,
// because no call returns the members of a group.
func (k kernel) member(group, session wire.PID) error {
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
		if g, err := k.group(wire.PID(pid)); err != nil || g != group {
			continue
		}
		if s, err := k.session(wire.PID(pid)); err == nil && s == session {
			return nil
		}
	}
	return unix.EPERM
}

// parentOf returns the parent of a process of the front end.
func parentOf(pid wire.PID) (wire.PID, error) {
	stat, err := procstat.ReadFile(fmt.Sprintf("/proc/%d/stat", pid), procstat.Whole)
	if err != nil {
		return 0, err
	}
	parent, ok := procstat.Stat(stat).Int(procstat.Parent)
	if !ok {
		return 0, fmt.Errorf("stat of %d: %q", pid, stat)
	}
	return wire.PID(parent), nil
}
