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

// result is what the last system call returned, for a ghost that has said that it is done.
func (r *registers) result() int64 { return int64(r.Regs[20]) }

// next is the address of the calling after the last one made of a list.
func (r *registers) next() uint64 { return r.Regs[19] }

// begin makes the ghost go on at an offset of its code. The kernel restarts a call only if the
// program counter is still where the kernel put it.
func (r *registers) begin(offset uint64, self wire.PID) {
	r.Pc, r.Regs[21] = textAddr(offset), uint64(self)
}

// calls sets the address of a list of callings.
func (r *registers) calls(list uint64) { r.Regs[19] = list }

// call sets a system call and its arguments.
func (r *registers) call(c calling) {
	r.Regs[8] = c[0]
	copy(r.Regs[:6], c[1:])
}
