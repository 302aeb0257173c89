package supervise

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// apart decides the calls of processes of jobs by which others could be signalled: for them no
// process is elsewhere. The node's kernel keeps jobs apart by Landlock (internal/job/jail), to
// which the ghosts that send signals are not subject.
func (s *Supervisor) apart(r *request, c *wire.Call) (v verdict, is bool) {
	switch c.Op {
	case wire.CallKill, wire.CallTgkill, wire.CallSigqueue, wire.CallTgsigqueue, wire.CallEnd:
	default: // the others only ask
		return v, false
	}
	switch whom := c.Args[0]; {
	case !r.eyes.ofJob(r.tid):
		return v, false
	case c.Op == wire.CallKill && whom == -1:
		return failure(unix.EPERM), true
	case c.Op == wire.CallKill && whom <= 0:
		return goOn, true // the processes of the group that are here
	}
	return failure(unix.ESRCH), true
}

func (v procView) ofJob(tid uint32) bool {
	fd, err := unix.Openat(v.own, fileOf(tid, "/cgroup"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return !hasGone(err)
	}
	file := os.NewFile(uintptr(fd), "control groups")
	defer file.Close()
	groups, err := io.ReadAll(file)
	if err != nil {
		return !hasGone(err)
	}
	return namesJob(groups)
}

// hasGone reports whether an error means that a caller has ended. With any other, such as a lack of descriptors, what
// the caller is stays unknown, and it is taken for what may do less.
func hasGone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// namesJob reports whether one of the control groups is that of a process of a job, or below one:
// job-JOB:PROCESS.
func namesJob(groups []byte) bool {
	for rest, found := groups, true; found; {
		if _, rest, found = bytes.Cut(rest, []byte("/job-")); !found {
			break
		}
		if end := bytes.IndexAny(rest, ":/\n"); end > 0 && rest[end] == ':' {
			return true
		}
	}
	return false
}
