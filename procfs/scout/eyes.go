package scout

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// eyes are what a thread looks with. Its system calls do not involve the Go runtime, which would
// take the processor away meanwhile.
type eyes struct {
	path   []byte // of the view, and room for a number
	prefix int    // length of the former, with the slash
	names  []byte // room for a listing
}

// listSize is enough for a directory of a process.
const listSize = 8 << 10

// numberRoom is enough for a number in decimal digits, and a zero.
const numberRoom = 16

func newEyes(mountpoint string) *eyes {
	path := append([]byte(mountpoint), '/')
	return &eyes{path: append(path, make([]byte, numberRoom)...), prefix: len(path), names: make([]byte, listSize)}
}

// ctty is a name that ps(1) looks for in vain.
var ctty = []byte("ctty\x00")

// see looks into some processes, and answers.
func (e *eyes) see(numbers []byte) {
	for at := 0; at < len(numbers); at += numberSize {
		if n := binary.LittleEndian.Uint32(numbers[at:]); n == all {
			e.list()
		} else {
			e.look(n)
		}
	}
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(unix.Stdout), address(numbers), uintptr(len(numbers))) // a server that does not hear it is dead
}

// look makes the files of a process known. Errors are ignored: the process may have ended.
func (e *eyes) look(number uint32) {
	digits := strconv.AppendUint(e.path[:e.prefix], uint64(number), 10)
	e.path[len(digits)] = 0
	if dir, ok := e.open(); ok {
		_, _, _ = unix.RawSyscall(unix.SYS_GETDENTS64, dir, address(e.names), uintptr(len(e.names)))
		_, _, _ = unix.RawSyscall(unix.SYS_FACCESSAT, dir, address(ctty), unix.F_OK)
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, dir, 0, 0)
	}
}

// list makes the directories of all processes known.
func (e *eyes) list() {
	e.path[e.prefix] = 0
	if dir, ok := e.open(); ok {
		for {
			n, _, errno := unix.RawSyscall(unix.SYS_GETDENTS64, dir, address(e.names), uintptr(len(e.names)))
			if errno != 0 || n == 0 {
				break
			}
		}
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, dir, 0, 0)
	}
}

// open opens the directory with the current path.
func (e *eyes) open() (dir uintptr, ok bool) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	at := unix.AT_FDCWD
	dir, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), address(e.path), flags, 0, 0, 0)
	return dir, errno == 0
}

// address returns the address of the first byte, for a system call. All such bytes are on the heap,
// where they stay.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
