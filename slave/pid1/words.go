package pid1

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// load and store are those of package sync/atomic, for code without a Go runtime: under the race
// detector the package's own need one.
//
//go:noescape
func load(word *uint32) uint32

//go:noescape
func store(word *uint32, value uint32)

// Operations of futex(2).
const (
	futexOpWait = 0
	futexOpWake = 1
)

// Flags of futex(2). A private futex is one of tasks that share the memory. The kernel itself wakes
// waiters of a shared one only, at the end of a thread (set_tid_address(2)).
const (
	futexPrivate = 128 // FUTEX_PRIVATE_FLAG
	futexShared  = 0
)

// futexWait waits, if the word has the value.
//
//go:nosplit
//go:norace
func futexWait(word *uint32, value uint32, who uintptr) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait|who, uintptr(value), 0, 0, 0)
}

// futexWake wakes all waiters.
//
//go:nosplit
//go:norace
func futexWake(word *uint32, who uintptr) {
	const all = 1<<31 - 1
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake|who, all, 0, 0, 0)
}
