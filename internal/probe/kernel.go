package probe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PIDNamespaces checks for PID namespaces (pid_namespaces(7)).
func (r Root) PIDNamespaces() error {
	return r.exists("/proc/self/ns/pid", "PID namespaces", "CONFIG_PID_NS")
}

// Cursor checks for the file that moves the allocation cursor of process numbers.
func (r Root) Cursor() error {
	return r.exists("/proc/sys/kernel/ns_last_pid", "the cursor of process numbers", "CONFIG_CHECKPOINT_RESTORE")
}

// SetTID checks that clone3(2) can choose process numbers. It asks for more numbers than a process
// can have: a kernel that knows the field returns EINVAL, other kernels reject the size of the
// structure.
func SetTID() error {
	const (
		setTIDSize = 9  // index of the field in struct clone_args
		tooMany    = 33 // MAX_PID_NS_LEVEL is 32
	)
	args := [10]uint64{setTIDSize: tooMany}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != unix.EINVAL {
		return fmt.Errorf("clone3 with set_tid (Linux 5.5): %w", errno)
	}
	return nil
}

// CloseRange checks for close_range(2), which launches need, on a range without descriptors.
func CloseRange() error {
	const none = math.MaxUint32
	if err := unix.CloseRange(none, none, 0); err != nil {
		return fmt.Errorf("close_range (Linux 5.9): %w", err)
	}
	return nil
}

// Versions of Landlock's interface (landlock(7)): the first in which a domain takes other processes out of
// sight without more (Linux 5.19), and the first with scopes for signals (Linux 6.12).
const (
	LandlockSight   = 2
	LandlockSignals = 6
)

// Landlock returns the version of Landlock's interface; 0: there is none, or it is not switched on.
func Landlock() (int, error) {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	switch errno {
	case 0:
		return int(v), nil
	case unix.ENOSYS, unix.EOPNOTSUPP:
		return 0, nil
	}
	return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
}

// Ptrace checks whether Yama (Documentation/admin-guide/LSM/Yama.rst) forbids ptrace(2) to all
// processes, including root's. Only a reboot lifts that.
func (r Root) Ptrace() error {
	const nobody = "3"
	if scope, err := r.Text("/proc/sys/kernel/yama/ptrace_scope"); err == nil && scope == nobody {
		return errors.New("kernel.yama.ptrace_scope is 3: no process may trace another")
	}
	return nil
}

// FUSE checks for the FUSE device. Opening it loads the kernel's module.
func (r Root) FUSE() error {
	f, err := os.OpenFile(r.Path("/dev/fuse"), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("FUSE (CONFIG_FUSE_FS): %w", err)
	}
	return f.Close()
}
