package supervise

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccompData is struct seccomp_data of seccomp(2).
type seccompData struct {
	Nr   int32
	Arch uint32
	IP   uint64
	Args [6]uint64
}

// notif is struct seccomp_notif of seccomp_unotify(2). PID is the number of the calling thread in
// the PID namespace of the receiver.
type notif struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Data  seccompData
}

// resp is struct seccomp_notif_resp.
type resp struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// Check reports what the kernel lacks, and whether its structures are the ones above.
func Check() error {
	var sizes [3]uint16 // struct seccomp_notif_sizes
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	if errno != 0 {
		return fmt.Errorf("sizes of seccomp notifications (Linux 5.0): %w", errno)
	}
	ours := [3]uint16{uint16(unsafe.Sizeof(notif{})), uint16(unsafe.Sizeof(resp{})), uint16(unsafe.Sizeof(seccompData{}))}
	if sizes != ours {
		return fmt.Errorf("seccomp notifications have sizes %v, not %v", sizes, ours)
	}
	if _, err := unix.ProcessVMReadv(unix.Getpid(), nil, nil, 0); err != nil {
		return fmt.Errorf("reading what callers pass (CONFIG_CROSS_MEMORY_ATTACH): %w", err)
	}
	return nil
}

// uninterrupted repeats a request of the listener until no signal interrupts it. The kernel waits
// for the filter's lock, which callers take, too. A signal can end that wait, and the kernel does
// not restart the request (EINTR, mutex_lock_interruptible of kernel/seccomp.c). Go's runtime
// signals its threads at any time.
func uninterrupted(request func() unix.Errno) unix.Errno {
	for {
		if errno := request(); errno != unix.EINTR {
			return errno
		}
	}
}

// receive takes a notification into n, which must be zero. It must be called when there is one:
// then it does not block, like answer, and the scheduler need not know. Telling the scheduler costs
// as much as the rest. The request is not repeated: the notification may be gone, and it would
// block.
func receive(listener int, n *notif) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(n)))
	return errno
}

// answer sends a response.
func answer(listener int, r resp) unix.Errno {
	return uninterrupted(func() unix.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		return errno
	})
}

// addfd is struct seccomp_notif_addfd.
type addfd struct {
	ID         uint64
	Flags      uint32
	SrcFD      uint32
	NewFD      uint32
	NewFDFlags uint32
}

// answerFile answers with a new descriptor of a file, closed on exec (Linux 5.9). It waits until
// the caller has it.
//
// The caller is given the descriptor first and then its number. One request can do both
// (SECCOMP_ADDFD_FLAG_SEND). But if a signal, a stop or the end of this daemon comes between, the
// kernel takes the descriptor back and lets the caller go on with 0, as if that were it
// (seccomp_notify_addfd of kernel/seccomp.c). The first request alone leaves nothing behind then.
func answerFile(listener int, id uint64, fd int) unix.Errno {
	a := addfd{ID: id, SrcFD: uint32(fd), NewFDFlags: unix.O_CLOEXEC}
	var given uintptr
	errno := uninterrupted(func() (errno unix.Errno) {
		given, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
		return errno
	})
	if errno != 0 {
		return errno
	}
	return answer(listener, resp{ID: id, Val: int64(given)})
}

// valid reports whether the caller of a notification still waits.
func valid(listener int, id uint64) bool {
	errno := uninterrupted(func() unix.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
		return errno
	})
	return errno == 0
}

// wakeSynchronously asks the kernel to hand a caller's processor over to the receiver and back,
// instead of waking another. Older kernels wake as before.
func wakeSynchronously(listener int) {
	_ = uninterrupted(func() unix.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
		return errno
	})
}
