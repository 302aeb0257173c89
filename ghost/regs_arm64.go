package ghost

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// registers are the general registers of a stopped ghost (NT_PRSTATUS).
type registers struct{ unix.PtraceRegs }

const ntPrstatus = 1 // NT_PRSTATUS of elf.h

func (r *registers) transfer(request int, pid wire.PID) error {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&r.PtraceRegs)), Len: uint64(unsafe.Sizeof(r.PtraceRegs))}
	return ptrace(request, pid, ntPrstatus, uintptr(unsafe.Pointer(&iov)))
}

func (r *registers) get(pid wire.PID) error { return r.transfer(unix.PTRACE_GETREGSET, pid) }
func (r *registers) set(pid wire.PID) error { return r.transfer(unix.PTRACE_SETREGSET, pid) }

func (r *registers) pc() uint64    { return r.Pc }
func (r *registers) stack() uint64 { return r.Sp }

// result is what the system call that was just made returned.
func (r *registers) result() int64 { return int64(r.Regs[0]) }

// call makes the ghost's next instruction a system call. The kernel restarts a
// call only if the program counter is still where it put it.
func (r *registers) call(number uint64, args [6]uint64) {
	r.Pc, r.Regs[8] = callAddr(), number
	copy(r.Regs[:6], args[:])
}
