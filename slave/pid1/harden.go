package pid1

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/standin"
)

// Settings of init's own process.
const (
	name     = standin.InitName
	priority = -20
	oomNever = "-1000" // oom_score_adj: never the victim
	pidMax   = 1 << 22 // the node zone's end: the most that any kernel allows
	// pidMaxFile belongs to the PID namespace of the process that opens it, since Linux 6.14.
	pidMaxFile = "/proc/sys/kernel/pid_max"
	procs      = 4  // GOMAXPROCS: one for each kind of goroutine is plenty
	threads    = 24 // started beforehand
	sizeofSet  = 8  // of the kernel's sigset_t
)

// Harden makes this process fit to be PID 1 of a process space. It must run
// before anything is started.
func Harden(log *slog.Logger) error {
	runtime.GOMAXPROCS(procs)
	if err := defaultSignals(); err != nil {
		return err
	}
	// Init works without these; a node may forbid them.
	for what, err := range map[string]error{
		"name": nameProcess(name),
		// A child shares this process's memory until its execve. The user has no access to it, and
		// a core dump of the child does not dump init; plan.identity ensures that again.
		"dumpable":      unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		"priority":      unix.Setpriority(unix.PRIO_PROCESS, 0, priority),
		"oom_score_adj": os.WriteFile("/proc/self/oom_score_adj", []byte(oomNever), 0),
		"RLIMIT_NOFILE": raiseFiles(),
	} {
		if err != nil {
			log.Debug("attribute of init not set", "attribute", what, "err", err)
		}
	}
	return raisePIDMax()
}

// nameProcess names this process, whichever of its threads runs here: prctl(2) would name that thread,
// and a space is known by the name of its init ([standin.IsSpace]).
func nameProcess(name string) error { return os.WriteFile("/proc/self/comm", []byte(name), 0) }

// commName returns a name in the form that prctl(2) takes.
func commName(name string) *[16]byte {
	var comm [16]byte
	copy(comm[:15], name)
	return &comm
}

// defaultSignals undoes the signal handlers of the Go runtime. The kernel drops signals for a PID 1
// that leaves them at the default action, even those of root inside the space; with a handler,
// SIGTERM would end init. The handlers for faults stay, since they report the place, and so does
// the one that preempts goroutines. Children begin with default actions for all signals (clone3
// resets handlers), since none is ignored here.
func defaultSignals() error {
	var action [4]uint64 // struct sigaction of the kernel: SIG_DFL, no flags
	for signo := unix.Signal(1); signo <= 64; signo++ {
		switch signo {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGURG, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
			continue
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signo), uintptr(unsafe.Pointer(&action)), 0, sizeofSet, 0, 0)
		if errno != 0 {
			return fmt.Errorf("default action for signal %d: %w", signo, errno)
		}
	}
	return nil
}

// raisePIDMax makes all numbers of the cluster usable. The limit belongs to the PID namespace since
// Linux 6.14, and to the machine before that.
func raisePIDMax() error {
	b, err := os.ReadFile(pidMaxFile)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err != nil || n >= pidMax {
		return err
	}
	return os.WriteFile(pidMaxFile, []byte(strconv.Itoa(pidMax)), 0)
}

// raiseFiles allows as many descriptors as the kernel does: init keeps descriptors of the daemon
// (stored).
func raiseFiles() error {
	b, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
}

// oomScoreAdj returns the value that children inherit.
func oomScoreAdj() string {
	b, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return "0"
	}
	return strings.TrimSpace(string(b))
}

// StartThreads makes the runtime start threads now, with numbers between the zones. Later they
// would take numbers of the node's blocks, or could not be had where there are as many tasks as the
// node may have. That ends a Go program, and with init all processes. It starts some more than init
// was ever seen to use.
func StartThreads() {
	var stopped sync.WaitGroup
	together(threads, stopped.Go)
	stopped.Wait()
}

// together has begin start n goroutines. Each holds a thread until all do.
func together(n int, begin func(func())) {
	var held sync.WaitGroup
	held.Add(n) // at once: a group that is used again while a goroutine waits ends the program
	for range n {
		begin(func() {
			runtime.LockOSThread() // one goroutine, one thread
			defer runtime.UnlockOSThread()
			held.Done()
			held.Wait()
		})
	}
}
