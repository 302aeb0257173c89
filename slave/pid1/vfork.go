package pid1

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// cloneArgs is struct clone_args of clone3(2), as of Linux 5.7.
//
//nolint:unused // the kernel's layout; zero in what is not set
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal uint64
	stack, stackSize, tls                         uint64
	setTID, setTIDSize, cgroup                    uint64
}

// The child shares the memory and the parent waits until it has executed:
// nothing is copied, however large init is. Also, what the child does to its
// oom_score_adj would count for init without CLONE_VFORK (Linux 5.10).
const cloneFlags = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_CLEAR_SIGHAND

// vforking is what the thread that runs vfork needs besides the plan. It is
// in the heap because the stack of a goroutine moves.
type vforking struct {
	args        cloneArgs
	all, before uint64 // signal masks
}

// run makes the process. It reports whether there was one, and what stopped it
// from executing the command.
func (p *plan) run() (born bool, r result) {
	const align = 16
	bottom := uintptr(unsafe.Pointer(unsafe.SliceData(p.stack)))
	bottom = (bottom + align - 1) &^ (align - 1)
	top := (bottom + uintptr(len(p.stack)) - align) &^ (align - 1)
	v := &vforking{all: ^uint64(0)}
	v.args = cloneArgs{
		flags:      cloneFlags,
		exitSignal: uint64(unix.SIGCHLD),
		stack:      uint64(bottom),
		stackSize:  uint64(top - bottom),
		// Only the number in the innermost namespace is chosen.
		setTID:     uint64(uintptr(unsafe.Pointer(&p.pid))),
		setTIDSize: 1,
	}
	_, errno := vfork(v, p)
	runtime.KeepAlive(p)
	if errno != 0 {
		return false, result{wire.StageSpawn, unix.Errno(errno)}
	}
	// A child that was killed before its execve left nothing: it ran, and its
	// status says how it ended.
	return true, result{p.stage, p.errno}
}

// vfork clones a child that runs the plan, and returns when it has executed or
// ended. To the scheduler it is one system call that blocks: the thread gives
// its processor away, as in syscall.Syscall6, which this follows. All signals
// are blocked around clone3 so that the child begins without any; its steps let
// them in.
//
//go:nosplit
//go:norace
func vfork(v *vforking, p *plan) (pid, errno uintptr) {
	entersyscall()
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&v.all)), uintptr(unsafe.Pointer(&v.before)), sizeofSet, 0, 0)
	pid, errno = rawVfork(&v.args, p)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&v.before)), 0, sizeofSet, 0, 0)
	exitsyscall()
	return pid, errno
}

//go:nosplit
//go:norace
func execve(path uintptr, argv, envp []uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_EXECVE, path, uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envp[0])), 0, 0, 0)
	return errno
}

// rawVfork is clone3 with a call of child in the new process
// (vfork_GOARCH.s).
func rawVfork(args *cloneArgs, p *plan) (pid, errno uintptr)

var _ = child // for tools that do not read assembly

// The runtime keeps these two open for gVisor (go.dev/issue/67401).

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
