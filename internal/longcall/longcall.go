package longcall

import (
	"syscall"
	_ "unsafe" // for go:linkname
)

// Syscall6 is [syscall.Syscall6] for a call that is expected to block.
//
//go:nosplit
//go:norace
//go:uintptrescapes
func Syscall6(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, errno syscall.Errno) {
	entersyscallblock()
	r1, r2, errno = syscall.RawSyscall6(trap, a1, a2, a3, a4, a5, a6)
	exitsyscall()
	return r1, r2, errno
}

// The runtime keeps these two functions accessible for gVisor (go.dev/issue/67401).

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
