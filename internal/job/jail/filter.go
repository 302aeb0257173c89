package jail

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/moby/sys/capability"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// never stands for the capability that nobody has: the call is not made by any job.
const never = capability.Cap(-1)

// denied are system calls that fail with EPERM, unless the job has the capability. It is a list of what is
// forbidden, not of what is allowed: system calls of kernels to come are used by the C libraries to come.
// Their effects need capabilities, which a job does not have.
var denied = map[uint32]capability.Cap{
	unix.SYS_ACCT:              capability.CAP_SYS_PACCT,
	unix.SYS_ADD_KEY:           never,
	unix.SYS_BPF:               capability.CAP_SYS_ADMIN,
	unix.SYS_CLOCK_SETTIME:     capability.CAP_SYS_TIME,
	unix.SYS_DELETE_MODULE:     capability.CAP_SYS_MODULE,
	unix.SYS_FANOTIFY_INIT:     capability.CAP_SYS_ADMIN,
	unix.SYS_FINIT_MODULE:      capability.CAP_SYS_MODULE,
	unix.SYS_FSCONFIG:          capability.CAP_SYS_ADMIN,
	unix.SYS_FSMOUNT:           capability.CAP_SYS_ADMIN,
	unix.SYS_FSOPEN:            capability.CAP_SYS_ADMIN,
	unix.SYS_FSPICK:            capability.CAP_SYS_ADMIN,
	unix.SYS_INIT_MODULE:       capability.CAP_SYS_MODULE,
	unix.SYS_IO_URING_ENTER:    never,
	unix.SYS_IO_URING_REGISTER: never,
	unix.SYS_IO_URING_SETUP:    never,
	unix.SYS_KCMP:              capability.CAP_SYS_PTRACE,
	unix.SYS_KEXEC_FILE_LOAD:   capability.CAP_SYS_BOOT,
	unix.SYS_KEXEC_LOAD:        capability.CAP_SYS_BOOT,
	unix.SYS_KEYCTL:            never,
	unix.SYS_LOOKUP_DCOOKIE:    capability.CAP_SYS_ADMIN,
	unix.SYS_MOUNT:             capability.CAP_SYS_ADMIN,
	unix.SYS_MOUNT_SETATTR:     capability.CAP_SYS_ADMIN,
	unix.SYS_MOVE_MOUNT:        capability.CAP_SYS_ADMIN,
	unix.SYS_NFSSERVCTL:        never,
	unix.SYS_OPEN_BY_HANDLE_AT: capability.CAP_DAC_READ_SEARCH,
	unix.SYS_OPEN_TREE:         capability.CAP_SYS_ADMIN,
	unix.SYS_PERF_EVENT_OPEN:   capability.CAP_SYS_ADMIN,
	unix.SYS_PIVOT_ROOT:        capability.CAP_SYS_ADMIN,
	unix.SYS_QUOTACTL:          capability.CAP_SYS_ADMIN,
	unix.SYS_QUOTACTL_FD:       capability.CAP_SYS_ADMIN,
	unix.SYS_REBOOT:            capability.CAP_SYS_BOOT,
	unix.SYS_REQUEST_KEY:       never,
	unix.SYS_SETDOMAINNAME:     capability.CAP_SYS_ADMIN,
	unix.SYS_SETHOSTNAME:       capability.CAP_SYS_ADMIN,
	unix.SYS_SETNS:             capability.CAP_SYS_ADMIN,
	unix.SYS_SETTIMEOFDAY:      capability.CAP_SYS_TIME,
	unix.SYS_SWAPOFF:           capability.CAP_SYS_ADMIN,
	unix.SYS_SWAPON:            capability.CAP_SYS_ADMIN,
	unix.SYS_UMOUNT2:           capability.CAP_SYS_ADMIN,
	unix.SYS_UNSHARE:           capability.CAP_SYS_ADMIN,
	unix.SYS_USERFAULTFD:       never,
	unix.SYS_VHANGUP:           capability.CAP_SYS_TTY_CONFIG,
}

// namespaceFlags are those of clone(2) that make namespaces. The flags of clone3(2) are in memory, where
// a filter does not see them: it is not there (ENOSYS), and C libraries use clone(2) instead.
const namespaceFlags = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// Offsets in struct seccomp_data (seccomp(2)), and the numbers from which on a call is one of the
// x32 interface.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArg0 = 16
	offsetArg2 = 32
	x32        = 0x40000000
)

// Answers of the filter.
var (
	allow   = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	refuse  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	unknown = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

// program returns the filter of a job with capabilities. Calls of other interfaces than the native
// one are not there.
func program(has []capability.Cap) []bpf.Instruction {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		unknown,
		bpf.LoadAbsolute{Off: offsetNr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		unknown,
	}
	calls := maps.Clone(denied)
	maps.Copy(calls, deniedHere)
	for _, nr := range slices.Sorted(maps.Keys(calls)) {
		if !slices.Contains(has, calls[nr]) {
			prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 1}, refuse)
		}
	}
	if !slices.Contains(has, capability.CAP_SYS_RESOURCE) {
		prog = append(prog, ownLimits...)
	}
	if slices.Contains(has, capability.CAP_SYS_ADMIN) {
		return append(prog, allow)
	}
	return append(prog,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, unknown,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipTrue: 1}, allow,
		bpf.LoadAbsolute{Off: offsetArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaceFlags, SkipFalse: 1}, refuse,
		allow,
	)
}

// ownLimits has prlimit(2) set limits of the caller only, which is process 0: the kernel would let it set those of all
// processes of the same user.
var ownLimits = []bpf.Instruction{
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_PRLIMIT64, SkipFalse: 8},
	bpf.LoadAbsolute{Off: offsetArg0, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
	bpf.LoadAbsolute{Off: offsetArg2, Size: 4}, // the new limit is null: it asks
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
	bpf.LoadAbsolute{Off: offsetArg2 + 4, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
	refuse,
	allow,
}

// install puts this thread under the filter.
func install(has []capability.Cap) error {
	raw, err := bpf.Assemble(program(has))
	if err != nil {
		return fmt.Errorf("filter of system calls: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("filter of system calls: %w", errno)
	}
	return nil
}
