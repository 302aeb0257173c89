package ghost

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// span is where a ghost's command line lies below its stack pointer. The zero span means above it,
// where execve(2) puts the command line.
type span struct{ start, end uint64 }

// memoryMap is struct prctl_mm_map of linux/prctl.h: what /proc/PID/stat shows of a process's
// memory.
type memoryMap struct {
	startCode, endCode, startData, endData, startBrk, brk uint64
	startStack, argStart, argEnd, envStart, envEnd        uint64

	auxv     uint64
	auxvSize uint32 // 0: unchanged
	exeFD    uint32
}

const (
	sizeofMemoryMap = 104
	sameExe         = ^uint32(0) // any other value needs a capability
)

// canRemap reports whether the kernel lets a process set the place of its command line. The kernel
// needs CONFIG_CHECKPOINT_RESTORE for that.
func canRemap() bool {
	var size uint32
	err := unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_MAP_SIZE, uintptr(unsafe.Pointer(&size)), 0, 0)
	return err == nil && size == sizeofMemoryMap
}

// show gives a ghost another command line and name without executing anything (PR_SET_MM_MAP of
// PR_SET_MM(2const)), and reports whether it did. It does not where the kernel or a limit forbids
// it, where there is no room, or where the credentials have to change as execve(2) changes them.
func (d *driven) show(argv []string, comm string) (shown bool, err error) {
	g := d.g
	if !d.s.remaps || g.astray || g.user.Effective == 0 && !g.root ||
		g.user.Saved != g.user.Effective || g.group.Saved != g.group.Effective {
		return false, nil
	}
	var line []byte
	for _, arg := range argv {
		line = append(append(line, arg...), 0)
	}
	at, ok := d.room(uint64(len(line)))
	if !ok {
		return false, nil
	}
	l := d.list()
	l.callThen(func() { g.argv = at }, unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_MAP, l.put(d.memoryMap(at)), sizeofMemoryMap)
	l.call(unix.SYS_PRCTL, unix.PR_SET_NAME, l.put(taskName(comm)))
	err = d.make(l, piece{at.start, line})
	return err == nil || errors.Is(err, errHeld), err
}

// room returns a place for a command line that does not overlap the one being shown, so that a
// concurrent reader sees no mixture.
func (d *driven) room(size uint64) (span, bool) {
	top := d.scratch()
	end := top
	if d.g.argv.end > top-size {
		end = d.g.argv.start
	}
	at := span{end - size, end}
	return at, size > 0 && at.start >= top-maxArgv && at.start < end
}

// memoryMap describes the memory of a ghost with its command line at the given place, followed by
// an empty environment. The image does not move its stack pointer, and has no heap.
func (d *driven) memoryMap(argv span) []byte {
	end := textAddr(uint64(len(here.text)))
	m := memoryMap{
		startCode: imageBase, endCode: end, startData: imageBase, endData: end, startBrk: end, brk: end,
		startStack: d.saved.stack(), argStart: argv.start, argEnd: argv.end, envStart: argv.end, envEnd: argv.end,
		exeFD: sameExe,
	}
	return (*[sizeofMemoryMap]byte)(unsafe.Pointer(&m))[:]
}

// taskName returns a name in the form that PR_SET_NAME(2const) takes.
func taskName(comm string) []byte {
	const size = 16 // TASK_COMM_LEN
	name := make([]byte, size)
	copy(name[:size-1], comm)
	return name
}
