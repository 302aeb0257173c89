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

// result is what the last system call returned, for a ghost that has said that it is done.
func (r *registers) result() int64 { return int64(r.R13) }

// next is the address of the calling after the last one made of a list.
func (r *registers) next() uint64 { return r.R12 }

// begin makes the ghost go on at an offset of its code. A negative Orig_rax keeps the kernel from
// restarting the call that the ghost was stopped in.
func (r *registers) begin(offset uint64, self wire.PID) {
	r.Rip, r.Orig_rax, r.R14 = textAddr(offset), ^uint64(0), uint64(self)
}

// calls sets the address of a list of callings.
func (r *registers) calls(list uint64) { r.R12 = list }

// call sets a system call and its arguments.
func (r *registers) call(c calling) {
	r.Rax, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9 = c[0], c[1], c[2], c[3], c[4], c[5], c[6]
}
