package ghost

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Requests of ptrace(2) that x/sys does not define on all architectures.
const (
	ptracePeekSiginfo = 0x4209
	ptraceSetSigmask  = 0x420b
)

// traceOptions selects the events of ghosts that the kernel reports to the keeper.
const traceOptions = unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC

// ptrace is ptrace(2). The calling thread must be the tracer. It is a raw system call: it never
// waits, and mostly takes less time than telling Go's scheduler about it.
func ptrace(request int, pid wire.PID, addr, data uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// goOn restarts a ghost from the stop that it was seen in. SIGKILL may have moved the ghost to the
// stop at its exit, which has not been seen yet and which it must not leave: then goOn does
// nothing, and the next wait shows that stop. If SIGKILL comes between the two requests, await
// holds the zombie.
func goOn(request int, pid wire.PID, sig unix.Signal) error {
	if info, err := getSiginfo(pid); err == nil && info.atExit() {
		return nil
	}
	return resume(request, pid, sig)
}

// atExit reports whether this is the siginfo of the stop at a ghost's exit, and not of a signal.
func (s *siginfo) atExit() bool { return s.code() == unix.PTRACE_EVENT_EXIT<<8|int32(unix.SIGTRAP) }

// signalAt returns the signal that a ghost was seen to be stopped by; nil if SIGKILL has taken it
// from that stop, which the next stop shows.
func signalAt(pid wire.PID) *siginfo {
	info, err := getSiginfo(pid)
	if err != nil || info.atExit() {
		return nil
	}
	return info
}

func resume(request int, pid wire.PID, sig unix.Signal) error {
	return ptrace(request, pid, 0, uintptr(sig))
}

// siginfo is siginfo_t of sigaction(2).
type siginfo [wire.SizeofSiginfo]byte

func getSiginfo(pid wire.PID) (*siginfo, error) {
	info := new(siginfo)
	err := ptrace(unix.PTRACE_GETSIGINFO, pid, 0, uintptr(unsafe.Pointer(info)))
	return info, err
}

// peekArgs is struct ptrace_peeksiginfo_args of ptrace(2).
type peekArgs struct {
	offset uint64
	flags  uint32
	count  int32
}

// Queues of pending signals of a ghost: its thread's, and the process's
// (PTRACE_PEEKSIGINFO_SHARED).
const (
	ofThread = iota
	ofProcess
)

// peek returns a pending signal of a stopped ghost, by its place in a queue; nil if there is none.
func peek(pid wire.PID, queue uint32, place uint64) *siginfo {
	args := peekArgs{offset: place, flags: queue, count: 1}
	info := new(siginfo)
	got, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, ptracePeekSiginfo, uintptr(pid),
		uintptr(unsafe.Pointer(&args)), uintptr(unsafe.Pointer(info)), 0, 0)
	if errno != 0 || got == 0 {
		return nil
	}
	return info
}

// pending reports whether a signal is pending for a stopped ghost. A signal of which the kernel has
// kept only the number (see siginfo.lost) is in no queue, so pending does not see it: it is
// reported when the ghost goes on, a moment later.
func pending(pid wire.PID) bool {
	return peek(pid, ofThread, 0) != nil || peek(pid, ofProcess, 0) != nil
}

// piece is data for a ghost's memory, and its address.
type piece struct {
	addr uint64
	data []byte // not empty
}

// write writes into a ghost's memory (process_vm_writev(2)).
func write(pid wire.PID, pieces ...piece) error {
	var local []unix.Iovec
	var remote []unix.RemoteIovec
	size := 0
	for _, p := range pieces {
		local = append(local, unix.Iovec{Base: &p.data[0], Len: uint64(len(p.data))})
		remote = append(remote, unix.RemoteIovec{Base: uintptr(p.addr), Len: len(p.data)})
		size += len(p.data)
	}
	switch n, err := unix.ProcessVMWritev(int(pid), local, remote, 0); {
	case err != nil:
		return err
	case n != size:
		return fmt.Errorf("%d of %d bytes: %w", n, size, unix.EFAULT)
	}
	return nil
}

// read fills b from a ghost's memory (process_vm_readv(2)).
func read(pid wire.PID, addr uint64, b []byte) error {
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	n, err := unix.ProcessVMReadv(int(pid), local, remote, 0)
	if err != nil {
		return fmt.Errorf("read memory of ghost %d: %w", pid, err)
	}
	if n != len(b) {
		return fmt.Errorf("read memory of ghost %d: %d of %d bytes", pid, n, len(b))
	}
	return nil
}

// stop is the reason of a tracee's stop, from its wait status (ptrace(2)).
type stop struct {
	status unix.WaitStatus
	signal unix.Signal
	event  int // PTRACE_EVENT_*; 0: a signal is about to be delivered
}

func stopOf(status unix.WaitStatus) stop {
	return stop{status: status, signal: status.StopSignal(), event: int(status>>16) & 0xff}
}

// stopSignal reports whether the default action of a signal is to stop.
func stopSignal(sig unix.Signal) bool {
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		return true
	}
	return false
}
