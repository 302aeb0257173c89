package status

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Identity is the user as whom procfs is read. The kernel decides what that user may see, by the
// same rules as when the user reads it on the node (ptrace(2): PTRACE_MODE_READ_FSCREDS).
type Identity struct {
	UID    uint32
	GID    uint32
	Groups []uint32
}

// everybody is a user who owns nothing: whatever the kernel shows to it may be shown to all users.
// The kernel and distributions call this number nobody.
var everybody = Identity{UID: 65534, GID: 65534}

// do calls f on a thread that has the identity, unless that is root's. Only the IDs for file access
// and the capabilities change: a process with the user's real ID could signal the daemon through a
// thread with that real ID (kill(2)). The thread ends with f; no other goroutine ever runs on it.
func (who Identity) do(f func() error) error {
	if who.UID == 0 {
		return f()
	}
	return <-who.start(f)
}

// start is do without waiting for f. The channel gets its result.
func (who Identity) start(f func() error) <-chan error {
	done := make(chan error, 1)
	if who.UID == 0 {
		go func() { done <- f() }()
	} else {
		go who.onThread(done, f)
	}
	return done
}

func (who Identity) onThread(done chan<- error, f func() error) {
	runtime.LockOSThread() // never unlocked
	if unix.Gettid() == unix.Getpid() {
		// The main thread represents the process to others. It must not change, and cannot end: it
		// waits here, so that the runtime takes another thread.
		defer runtime.UnlockOSThread()
		again := make(chan error, 1)
		go who.onThread(again, f)
		done <- <-again
		return
	}
	if err := who.assume(); err != nil {
		done <- fmt.Errorf("become user %d: %w", who.UID, err)
		return
	}
	done <- f()
}

// assume gives the calling thread the identity (credentials(7)). The raw system calls affect one
// thread; the functions of package unix affect all.
func (who Identity) assume() error {
	groups := unsafe.Pointer(unsafe.SliceData(who.Groups))
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(who.Groups)), uintptr(groups), 0); errno != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	for _, set := range []struct {
		call uintptr
		id   uint32
	}{{unix.SYS_SETFSGID, who.GID}, {unix.SYS_SETFSUID, who.UID}} {
		// setfsuid(2) reports no errors, but the second call returns the current ID.
		_, _, _ = unix.RawSyscall(set.call, uintptr(set.id), 0, 0)
		if now, _, _ := unix.RawSyscall(set.call, uintptr(set.id), 0, 0); uint32(now) != set.id {
			return fmt.Errorf("setfsuid or setfsgid %d: %w", set.id, unix.EPERM)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData // 64 capabilities
	if _, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("capset: %w", errno)
	}
	return nil
}
