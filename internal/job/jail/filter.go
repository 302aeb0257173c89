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

// never stands for a capability that no job has: no job may make the call.
const never = capability.Cap(-1)

// denied maps system calls that fail with EPERM to the capability that permits them. It is a list
// of forbidden calls, not of allowed ones, because future C libraries will use future system calls.
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

// namespaceFlags are the flags of clone(2) that make namespaces. A filter cannot see the flags of
// clone3(2), which are in memory. So clone3 fails with ENOSYS, and C libraries use clone(2)
// instead.
const namespaceFlags = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// Offsets in struct seccomp_data (seccomp(2)), and the first number of the calls of the x32
// interface.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArg0 = 16
	offsetArg2 = 32
	x32        = 0x40000000
)

// Results of the filter.
var (
	allow   = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	refuse  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	unknown = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

// program returns the filter of a job with the given capabilities. Calls of interfaces other than
// the native one fail with ENOSYS.
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

// ownLimits lets prlimit(2) set limits of the caller only, as process 0. The kernel would let it
// set limits of all processes of the same user.
var ownLimits = []bpf.Instruction{
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_PRLIMIT64, SkipFalse: 8},
	bpf.LoadAbsolute{Off: offsetArg0, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
	bpf.LoadAbsolute{Off: offsetArg2, Size: 4}, // a null pointer as the new limit: only read the limit
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
	bpf.LoadAbsolute{Off: offsetArg2 + 4, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
	refuse,
	allow,
}

// install installs the filter for this thread.
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
