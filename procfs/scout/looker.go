package scout

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// looker is what a thread looks with. Its system calls do not involve the Go runtime, which would take
// the processor away meanwhile.
type looker struct {
	path   []byte // of the view, and room for a number
	prefix int    // length of the former, with the slash
	names  []byte // room for a listing
	answer []byte // room for the answer to a task
	ctty   []byte // a name that ps(1) looks for in vain
}

// listSize is enough for a directory of a process.
const listSize = 8 << 10

// numberRoom is enough for a number in decimal digits, and a zero.
const numberRoom = 16

func newLooker(mountpoint string) *looker {
	path := append([]byte(mountpoint), '/')
	return &looker{
		path:   append(path, make([]byte, numberRoom)...),
		prefix: len(path),
		names:  make([]byte, listSize),
		answer: make([]byte, 0, piece*numberSize),
		ctty:   []byte("ctty\x00"),
	}
}

// do looks into some processes, and answers.
func (l *looker) do(t task) {
	l.answer = l.answer[:0]
	for _, n := range t.numbers[:t.count] {
		if n == all {
			l.list()
		} else {
			l.look(n)
		}
		l.answer = binary.LittleEndian.AppendUint32(l.answer, n)
	}
	// It fails if the server is dead.
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(unix.Stdout), address(l.answer), uintptr(len(l.answer)))
}

// look makes the files of a process known. Errors are ignored: the process may have ended.
func (l *looker) look(number uint32) {
	digits := strconv.AppendUint(l.path[:l.prefix], uint64(number), 10)
	l.path[len(digits)] = 0
	if dir, ok := l.open(); ok {
		// It begins behind the dots: the kernel would keep a page of each directory's listing that begins at the
		// beginning (fuse_add_dirent_to_cache of fs/fuse/readdir.c).
		_, _, _ = unix.RawSyscall(unix.SYS_LSEEK, dir, 2, unix.SEEK_SET)
		_, _, _ = unix.RawSyscall(unix.SYS_GETDENTS64, dir, address(l.names), uintptr(len(l.names)))
		_, _, _ = unix.RawSyscall(unix.SYS_FACCESSAT, dir, address(l.ctty), unix.F_OK)
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, dir, 0, 0)
	}
}

// list makes the directories of all processes known.
func (l *looker) list() {
	l.path[l.prefix] = 0
	if dir, ok := l.open(); ok {
		for {
			n, _, errno := unix.RawSyscall(unix.SYS_GETDENTS64, dir, address(l.names), uintptr(len(l.names)))
			if errno != 0 || n == 0 {
				break
			}
		}
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, dir, 0, 0)
	}
}

// open opens the directory with the current path.
func (l *looker) open() (dir uintptr, ok bool) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	at := unix.AT_FDCWD
	dir, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), address(l.path), flags, 0, 0, 0)
	return dir, errno == 0
}

// address returns the address of the first byte, for a system call. The bytes are those of a looker,
// which nothing moves or frees.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
