package liars

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// role runs the role of a child of a liar.
func role(name string) error {
	switch name {
	case "vfork":
		return vfork()
	case "filtered":
		return filtered()
	case "spin":
		for { //nolint:staticcheck // that it spins is its role
		}
	}
	return fmt.Errorf("no role %q", name)
}

// vfork makes a child that shares its memory, and waits for it in the kernel, which only SIGKILL
// ends.
func vfork() error {
	flags := uintptr(unix.CLONE_VM | unix.CLONE_VFORK | int(unix.SIGCHLD))
	if pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0); errno != 0 || pid != 0 {
		return errno
	}
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0) // until a signal; there may be several
	}
}

// filtered executes the ghost's image with a filter that answers kill(2), by which a ghost says
// that it is done.
func filtered() error {
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_KILL},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return unix.Exec(cluster.Prefix+"/lib/bproc/ghost", []string{"filtered"}, nil)
}
