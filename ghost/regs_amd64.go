package ghost

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// registers are the general registers of a stopped ghost.
type registers struct{ unix.PtraceRegs }

func (r *registers) get(pid wire.PID) error {
	return ptrace(unix.PTRACE_GETREGS, pid, 0, uintptr(unsafe.Pointer(&r.PtraceRegs)))
}

func (r *registers) set(pid wire.PID) error {
	return ptrace(unix.PTRACE_SETREGS, pid, 0, uintptr(unsafe.Pointer(&r.PtraceRegs)))
}

func (r *registers) pc() uint64    { return r.Rip }
func (r *registers) stack() uint64 { return r.Rsp }

// result is what the system call that was just made returned.
func (r *registers) result() int64 { return int64(r.Rax) }

// call makes the ghost's next instruction a system call. Orig_rax below zero
// keeps the kernel from restarting the call that the ghost was stopped in.
func (r *registers) call(number uint64, args [6]uint64) {
	r.Rip, r.Rax, r.Orig_rax = callAddr(), number, ^uint64(0)
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9 = args[0], args[1], args[2], args[3], args[4], args[5]
}
