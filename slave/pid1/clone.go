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

// The child shares the memory, and the parent waits until the child has executed: nothing is
// copied, however large init is. Also, without CLONE_VFORK a change of the child's oom_score_adj
// would apply to init, too (Linux 5.10).
//
// The child also shares the descriptors, until its first step. So it gets copies of the few that it
// needs, and not of all that init keeps.
const cloneFlags = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES | unix.CLONE_CLEAR_SIGHAND

// use sets the stack, and the number that the new process has in the innermost
// PID namespace.
func (a *cloneArgs) use(stack []byte, number *int32) {
	const align = 16
	bottom := uintptr(unsafe.Pointer(unsafe.SliceData(stack)))
	bottom = (bottom + align - 1) &^ (align - 1)
	top := (bottom + uintptr(len(stack)) - align) &^ (align - 1)
	a.stack, a.stackSize = uint64(bottom), uint64(top-bottom)
	a.setTID, a.setTIDSize = address(number), 1
}

func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// masks are the signal masks for a thread that clones. They are on the heap because the stack of a
// goroutine moves.
type masks struct{ all, before uint64 }

// run makes the process as a child of the calling thread. It reports whether there was one, and
// what kept it from executing the command.
func (p *plan) run() (born bool, r result) {
	p.args.flags, p.args.exitSignal = cloneFlags, uint64(unix.SIGCHLD)
	errno := clone(&masks{all: ^uint64(0)}, &p.args, &p.entry)
	runtime.KeepAlive(p)
	if errno != 0 {
		return false, result{wire.StageSpawn, unix.Errno(errno)}
	}
	return true, p.result()
}

// result returns what the child has recorded. A child that was killed before its execve has
// recorded nothing: it ran, and its status says how it ended.
func (p *plan) result() result { return result{p.stage, p.errno} }

// clone makes a process. With CLONE_VFORK it returns when the process has executed or ended. To the
// scheduler it is one blocking system call: the thread gives its processor away, as in
// syscall.Syscall6, which this follows. All signals are blocked around clone3, so that the child
// begins with none; its steps unblock them.
//
//go:nosplit
//go:norace
func clone(m *masks, args *cloneArgs, e *entry) (errno uintptr) {
	entersyscall()
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&m.all)), uintptr(unsafe.Pointer(&m.before)), sizeofSet, 0, 0)
	_, errno = rawClone(args, e)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&m.before)), 0, sizeofSet, 0, 0)
	exitsyscall()
	return errno
}

//go:nosplit
//go:norace
func execve(path uintptr, argv, envp []uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_EXECVE, path, uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envp[0])), 0, 0, 0)
	return errno
}

// rawClone is clone3 with a call of born in the new process (clone_GOARCH.s).
func rawClone(args *cloneArgs, e *entry) (pid, errno uintptr)

var _ = bornAt // for tools that do not read assembly

// bornAt is the address of born's code, in the form that takes its argument in a
// register: the first word of what a function value points to.
var bornAt = func() uintptr {
	f := born
	return **(**uintptr)(unsafe.Pointer(&f))
}()

// The runtime keeps these two open for gVisor (go.dev/issue/67401).

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
