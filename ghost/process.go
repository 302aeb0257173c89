package ghost

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// process is a process that the keeper is checking to be a ghost. Its directory in /proc belongs to
// this process alone, and shows none when that has ended, even if the number is used again.
type process struct {
	pid    wire.PID
	dir    int
	status int
}

func openProcess(pid wire.PID) (p process, err error) {
	p.pid = pid
	if p.dir, err = unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		if p.status, err = unix.Openat(p.dir, "status", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			unix.Close(p.dir)
		}
	}
	if errors.Is(err, unix.ENOENT) {
		err = unix.ESRCH
	}
	if err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	return p, nil
}

func (p process) close() {
	unix.Close(p.status)
	unix.Close(p.dir)
}

// readStatus reads the status anew. It is long for a user in many groups.
func (p process) readStatus() (processStatus, error) {
	var usual [8 << 10]byte
	for text := usual[:]; ; text = make([]byte, 4*len(text)) {
		n, err := unix.Pread(p.status, text, 0)
		if err != nil {
			return processStatus{}, fmt.Errorf("status of process %d: %w", p.pid, err)
		}
		if n < len(text) {
			return parseStatus(text[:n])
		}
	}
}

// users returns the process's user namespace, in the form of namespaces(7).
func (p process) users() (string, error) {
	var name [64]byte
	n, err := unix.Readlinkat(p.dir, "ns/user", name[:])
	return string(name[:max(n, 0)]), err
}

// hasExecuted reports whether a process is not in the part of an execve(2) that has replaced its
// image but not yet its credentials: the kernel records the place of the code after both.
func (p process) hasExecuted() bool {
	text, err := readProc(p.pid, "stat")
	if err != nil {
		return true
	}
	return string(procstat.Stat(text).Field(procstat.StartCode)) != "0"
}

// runsImageOf reports whether a process runs the image of another one, as a child does before it
// executes its own.
func (p process) runsImageOf(other wire.PID) bool {
	own, err := inodeOf(p.dir, "exe")
	image, otherErr := inodeOf(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/exe", other))
	return err == nil && otherErr == nil && own == image
}

// inode identifies a file. It is found without asking the file system's server: the server of a
// file that is not the ghost's image need not answer.
type inode struct {
	major, minor uint32
	number       uint64
}

func inodeOf(dir int, path string) (inode, error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, path, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &st); err != nil {
		return inode{}, err
	}
	return inode{st.Dev_major, st.Dev_minor, st.Ino}, nil
}

// rules are the conditions that a process must meet to be a ghost, besides its parent and user.
type rules struct {
	image   inode
	users   string // the keeper's user namespace; empty: the kernel has no user namespaces
	filters uint64
}

// newRules returns the rules for an image.
func newRules(image string) (r rules, err error) {
	if r.image, err = inodeOf(unix.AT_FDCWD, image); err != nil {
		return r, fmt.Errorf("ghost image %s: %w", image, err)
	}
	if r.users, err = os.Readlink("/proc/self/ns/user"); err != nil && !errors.Is(err, unix.ENOENT) {
		return r, fmt.Errorf("user namespace: %w", err)
	}
	own, err := readStatus(wire.PID(unix.Getpid()))
	r.filters = own.filters
	return r, err
}

// errImage means that a process does not run the ghost's image.
var errImage = fmt.Errorf("not the ghost's image: %w", unix.EINVAL)

// checkImage checks that a process exists and runs the image.
func (r *rules) checkImage(p process) error {
	image, err := inodeOf(p.dir, "exe")
	if err == nil && image != r.image {
		err = errImage
	}
	if err != nil {
		return fmt.Errorf("image of %d: %w", p.pid, err)
	}
	return nil
}

// check checks a process that is to be adopted.
func (r *rules) check(p process, m *wire.GhostAdopt) (processStatus, error) {
	if err := r.checkImage(p); err != nil {
		return processStatus{}, err
	}
	st, err := p.readStatus()
	if err != nil {
		return st, err
	}
	users, err := p.users()
	if err != nil && r.users != "" {
		return st, fmt.Errorf("user namespace of %d: %w", p.pid, err)
	}
	what, errno := "", unix.Errno(0)
	switch {
	case m.Parent != 0 && st.parent != m.Parent:
		what, errno = "parent", unix.ECHILD
	case m.UID != AnyUser && st.user.Real != m.UID:
		what, errno = "user", unix.EPERM
	case m.UID == AnyUser && !wasMarked(p.pid): // a new process of a client that has reused a ghost's number
		what, errno = "mark", unix.ESRCH
	case users != r.users: // its capabilities would not count here, and its owner may trace it
		what, errno = "user namespace", unix.EPERM
	case st.capable&imageCapabilities != imageCapabilities:
		// It could not choose its children's numbers: no_new_privs, or a file system mounted with
		// nosuid, has withheld the image's file capabilities.
		what, errno = "capability", unix.EPERM
	case st.filters > r.filters: // a filter may refuse its calls
		what, errno = "seccomp filter", unix.EPERM
	case st.threads != 1:
		what, errno = "threads", unix.EINVAL
	default:
		return st, nil
	}
	return st, fmt.Errorf("%s of %d: %w", what, p.pid, errno)
}
