package supervise

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// kind tells IDs of users from those of groups, by their line in a status file
// (proc_pid_status(5)).
type kind string

const (
	users  kind = "\nUid:"
	groups kind = "\nGid:"
)

// ids are the real, the effective and the saved ID, as setresuid(2) has them.
type ids [3]uint32

// credentials lets the call go on. The ghost gets the credentials that the kernel makes of it.
func (s *Supervisor) credentials(r *request) verdict {
	s.frontEnd.Recredits(r.who.pid)
	return goOn
}

// setres: a caller that sets the IDs that it has changes nothing, and need not be watched. make(1),
// for one, does so before each command (seteuid(3)).
func (s *Supervisor) setres(r *request, of kind) verdict {
	if has, ok := r.eyes.ids(r.tid, of); ok && has.stay(&r.args) {
		return goOn
	}
	return s.credentials(r)
}

// stay reports whether the arguments of setresuid(2) or setresgid(2) change nothing.
func (has ids) stay(args *[6]uint64) bool {
	const same = ^uint32(0) // -1
	for i, id := range has {
		if to := uint32(args[i]); to != same && to != id {
			return false
		}
	}
	return true
}

// userNamespace returns the inode of the user namespace of this program; 0: not known.
func userNamespace() uint64 {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/user", &st); err != nil {
		return 0
	}
	return st.Ino
}

func (v procView) ids(tid uint32, of kind) (has ids, ok bool) {
	var st unix.Stat_t
	if err := unix.Fstatat(v.own, fileOf(tid, "/ns/user"), &st, 0); err != nil || st.Ino != v.users {
		return has, false
	}
	fd, err := unix.Openat(v.own, fileOf(tid, "/status"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return has, false
	}
	defer unix.Close(fd)
	var status [statusSize]byte // the lines are among the first
	n, err := unix.Read(fd, status[:])
	if err != nil {
		return has, false
	}
	for i := range has {
		id, _, ok := field(status[:n], string(of), Level(i))
		if !ok {
			return has, false
		}
		has[i] = uint32(id)
	}
	return has, true
}

// weak: root of a user namespace further in is weak, too, whatever it may do there. Callers other
// than root are not: their ghosts cannot do more either.
func (v procView) weak(tid uint32) bool {
	fd, err := unix.Openat(v.own, fileOf(tid, "/status"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return !hasGone(err)
	}
	defer unix.Close(fd)
	status := make([]byte, 0, statusSize)
	for {
		n, err := unix.Read(fd, status[len(status):cap(status)])
		if err != nil {
			return !hasGone(err)
		}
		status = status[:len(status)+n]
		if len(status) == cap(status) {
			status = append(make([]byte, 0, 4*cap(status)), status...)
		}
		if uid, _, ok := field(status, string(users), 1); ok && uid != 0 {
			return false
		}
		if n == 0 {
			break
		}
	}
	if capable, ok := capabilities(status); !ok || capable&(1<<unix.CAP_KILL) == 0 {
		return true
	}
	var st unix.Stat_t
	return unix.Fstatat(v.own, fileOf(tid, "/ns/user"), &st, 0) == nil && st.Ino != v.users
}

// capabilities returns the effective capabilities in a status file.
func capabilities(status []byte) (uint64, bool) {
	_, rest, _ := bytes.Cut(status, []byte("\nCapEff:\t"))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	set, err := strconv.ParseUint(string(text), 16, 64)
	return set, err == nil
}
