package oldkernel

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// firstNewer is epoll_pwait2(2) of Linux 5.11. Since 5.1, new calls have the same number on all
// architectures.
const firstNewer = 441

// refusal makes a call fail if a comparison of one of its arguments holds.
type refusal struct {
	call  uint32
	arg   uint32
	cond  bpf.JumpTest
	value uint32
	errno unix.Errno
}

// Flags of Linux 5.10, and newer requests, that package unix does not name.
const (
	moveMountFlags = 0x77       // MOVE_MOUNT__MASK
	filterFlags    = 0x1f       // SECCOMP_FILTER_FLAG_TSYNC and so on up to _TSYNC_ESRCH
	memfdFlags     = 0xfc000007 // MFD_CLOEXEC, MFD_ALLOW_SEALING, MFD_HUGETLB and its sizes
	getTGIDIn      = 0x8004b709 // NS_GET_TGID_IN_PIDNS
)

// other returns all bits but those of known flags.
func other(known uint32) uint32 { return ^known }

var refusals = []refusal{
	{unix.SYS_CLOSE_RANGE, 2, bpf.JumpBitsSet, other(unix.CLOSE_RANGE_UNSHARE), unix.EINVAL}, // CLOSE_RANGE_CLOEXEC: 5.11
	{unix.SYS_MOVE_MOUNT, 4, bpf.JumpBitsSet, other(moveMountFlags), unix.EINVAL},            // MOVE_MOUNT_SET_GROUP: 5.15
	{unix.SYS_SECCOMP, 1, bpf.JumpBitsSet, other(filterFlags), unix.EINVAL},                  // WAIT_KILLABLE_RECV: 5.19
	{unix.SYS_MEMFD_CREATE, 1, bpf.JumpBitsSet, other(memfdFlags), unix.EINVAL},              // MFD_NOEXEC_SEAL: 6.3
	{unix.SYS_IOCTL, 1, bpf.JumpEqual, unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.EINVAL},      // 6.6
	{unix.SYS_PIDFD_OPEN, 1, bpf.JumpBitsSet, other(unix.O_NONBLOCK), unix.EINVAL},           // PIDFD_THREAD: 6.9
	{unix.SYS_PIDFD_SEND_SIGNAL, 3, bpf.JumpBitsSet, other(0), unix.EINVAL},                  // 6.9
	{unix.SYS_IOCTL, 1, bpf.JumpEqual, getTGIDIn, unix.ENOTTY},                               // 6.11
}

// Offsets in struct seccomp_data; both architectures are little-endian.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArgs = 16
	sizeofArg  = 8
)

// instructions returns the filter:
//
//	not the native interface: allow
//	a newer call: ENOSYS
//	for each refusal: if the call matches and the comparison holds, its errno
//	allow
func instructions() []bpf.Instruction {
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	refuse := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		allow,
		bpf.LoadAbsolute{Off: offsetNr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: firstNewer, SkipTrue: 1},
		refuse(unix.ENOSYS),
	}
	for _, r := range refusals {
		prog = append(prog,
			bpf.LoadAbsolute{Off: offsetNr, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.call, SkipTrue: 3},
			bpf.LoadAbsolute{Off: offsetArgs + sizeofArg*r.arg, Size: 4},
			bpf.JumpIf{Cond: r.cond, Val: r.value, SkipFalse: 1},
			refuse(r.errno),
		)
	}
	return append(prog, allow)
}

// Enter puts the calling thread and its children on the old kernel. The thread must be locked and
// must never be unlocked. Enter needs CAP_SYS_ADMIN, so that set-uid programs go on working.
func Enter() error {
	raw, err := bpf.Assemble(instructions())
	if err != nil {
		return fmt.Errorf("assemble the filter of an old kernel: %w", err)
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		prog[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return fmt.Errorf("install the filter of an old kernel: %w", errno)
	}
	return nil
}

// Do calls f on its own thread on the old kernel. Programs that f itself starts are on it too, but
// not the goroutines of f.
func Do(f func() error) error {
	return ownthread.Do(func() error {
		if err := Enter(); err != nil {
			return err
		}
		return f()
	})
}
