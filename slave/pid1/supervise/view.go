package supervise

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// eyes are a view with the numbers that callers have for one receiver.
type eyes struct {
	view
	init uint32 // the number of init
}

// view is what decisions rest on, besides the arguments of a call. Nothing is kept from one call to
// the next: a thread's number can pass to another thread.
type view interface {
	// caller returns the process that makes a call. It reports false for a process in a PID
	// namespace further in, whose numbers are its own, and for a thread that is gone.
	caller(tid uint32) (identity, bool)
	// number returns the number in the space of the process that makes a call, whatever its
	// namespace.
	number(tid uint32) (wire.PID, bool)
	// user returns the real user of the process that makes a call. It reports false for a thread
	// that is gone.
	user(tid uint32) (uint32, bool)
	// process returns a process of the space.
	process(pid wire.PID) (identity, bool)
	// executed reports whether a process of the space has executed a program.
	executed(pid wire.PID) bool
	// exists reports whether a process or thread of the space has the number.
	exists(pid wire.PID) bool
	// waits reports whether the caller of a notification still waits.
	waits(id uint64) bool
	// pidfd returns the number in the space of the process that one of the caller's descriptors
	// stands for. It reports false if it is no such descriptor, or if the process has ended.
	pidfd(tid uint32, fd int32) (wire.PID, bool)
	// weak reports whether a caller is root, but may not signal all processes that root may.
	weak(tid uint32) bool
	// ofJob reports whether a caller is a process of a job.
	ofJob(tid uint32) bool
	// ids returns the IDs of a caller. It reports false if the caller itself has other numbers for
	// them, in a user namespace further in.
	ids(tid uint32, of kind) (ids, bool)
	// memory reads from the caller's memory.
	memory(tid uint32, at uintptr, buf []byte) error
}

// identity identifies a process. Numbers are those of the space, except that of a caller's parent,
// which is as the supervisor sees it.
type identity struct {
	pid, pgid, sid wire.PID
	parent         uint32
}

// procView reads two procfs: the receiver's and the space's.
type procView struct {
	level    Level
	own      int    // descriptor of the receiver's
	proc     int    // descriptor of the space's
	ns       int    // descriptor of the space's PID namespace; -1: the kernel does not translate by it
	users    uint64 // the user namespace in which IDs are read: this program's
	listener int
}

func (v procView) caller(tid uint32) (identity, bool) {
	return v.read(v.own, fileOf(tid, "/status"), v.level, true)
}

// fileOf names a file of a thread.
func fileOf(tid uint32, name string) string {
	var path [32]byte
	return string(append(strconv.AppendUint(path[:0], uint64(tid), 10), name...))
}

func (v procView) number(tid uint32) (wire.PID, bool) {
	if v.ns >= 0 {
		return tgidIn(v.ns, tid)
	}
	who, ok := v.read(v.own, fileOf(tid, "/status"), v.level, false)
	return who.pid, ok
}

// user returns the real user: the effective user of a set-user-ID program is another one.
func (v procView) user(tid uint32) (uint32, bool) {
	fd, err := unix.Openat(v.own, fileOf(tid, "/status"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var first [statusSize]byte // the IDs come before lines that may be long
	n, err := unix.Read(fd, first[:])
	if err != nil {
		return 0, false
	}
	uid, _, ok := field(first[:n], "\nUid:", 0)
	return uint32(uid), ok
}

func (v procView) process(pid wire.PID) (identity, bool) {
	return v.read(v.proc, pid.String()+"/status", 0, false)
}

func (v procView) exists(pid wire.PID) bool {
	return unix.Faccessat(v.proc, pid.String(), unix.F_OK, 0) == nil
}

func (v procView) waits(id uint64) bool { return valid(v.listener, id) }

func (v procView) pidfd(tid uint32, fd int32) (wire.PID, bool) {
	if fd < 0 {
		return 0, false
	}
	file, err := unix.Openat(v.own, fileOf(tid, "/fdinfo/")+strconv.Itoa(int(fd)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(file)
	var info [512]byte // a descriptor of a process has a third of this
	n, err := unix.Read(file, info[:])
	if err != nil {
		return 0, false
	}
	number, _, ok := field(info[:n], "\nNSpid:", v.level)
	return wire.PID(number), ok && number > 0
}

func (v procView) memory(tid uint32, at uintptr, buf []byte) error {
	local := []unix.Iovec{{Base: unsafe.SliceData(buf), Len: uint64(len(buf))}}
	remote := []unix.RemoteIovec{{Base: at, Len: len(buf)}}
	n, err := unix.ProcessVMReadv(int(tid), local, remote, 0)
	if err == nil && n < len(buf) {
		return unix.EFAULT
	}
	return err
}

// deputyView is the view of a supervisor outside on calls that the one inside has received.
type deputyView struct{ procView }

func (v deputyView) memory(tid uint32, at uintptr, buf []byte) error {
	fd, err := unix.Openat(v.own, fileOf(tid, "/mem"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Pread(fd, buf, int64(at))
	if err != nil || n < len(buf) {
		return unix.EFAULT // EIO, as proc(5) has it
	}
	return nil
}

// statusSize is enough for the part of a status file (proc(5)) that has the numbers, unless the
// process is in more than a hundred groups.
const statusSize = 2048

func (v procView) read(dir int, name string, level Level, here bool) (identity, bool) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return identity{}, false
	}
	defer unix.Close(fd)
	var first [statusSize]byte
	status := first[:0]
	for {
		n, err := unix.Read(fd, status[len(status):cap(status)])
		if err != nil {
			return identity{}, false
		}
		status = status[:len(status)+n]
		if who, ok := parseStatus(status, level, here); ok || n == 0 {
			return who, ok
		}
		if len(status) == cap(status) {
			status = append(make([]byte, 0, 4*cap(status)), status...)
		}
	}
}

// parseStatus reads the numbers that a process has level namespaces inside that of the procfs. With
// here it accepts only a process that is no further inside.
func parseStatus(status []byte, level Level, here bool) (identity, bool) {
	parent, n, ok1 := field(status, "\nPPid:", 0)
	pid, levels, ok2 := field(status, "\nNStgid:", level)
	pgid, _, ok3 := field(status, "\nNSpgid:", level)
	sid, _, ok4 := field(status, "\nNSsid:", level)
	if !ok1 || !ok2 || !ok3 || !ok4 || n != 1 || here && levels != int(level)+1 {
		return identity{}, false
	}
	return identity{pid: wire.PID(pid), pgid: wire.PID(pgid), sid: wire.PID(sid), parent: uint32(parent)}, true
}

// field returns one of the numbers of a line, and their count.
func field(status []byte, line string, at Level) (value, count int, ok bool) {
	start := bytes.Index(status, []byte(line))
	if start < 0 {
		return 0, 0, false
	}
	rest := status[start+len(line):]
	number, digits := 0, false
	for _, b := range rest {
		switch {
		case b >= '0' && b <= '9' && number < 1<<40:
			number, digits = 10*number+int(b-'0'), true
		case b != '\t' && b != ' ' && b != '\n':
			return 0, 0, false
		default:
			if digits && count == int(at) {
				value, ok = number, true
			}
			if digits {
				count++
			}
			number, digits = 0, false
			if b == '\n' {
				return value, count, ok
			}
		}
	}
	return 0, 0, false // cut off
}
