package oldkernel_test

import (
	"errors"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/internal/oldkernel"
)

// none is never a valid descriptor: a call that gets as far as looking it up is known to the
// kernel.
const none = ^uintptr(0) >> 33

func TestRefusesWhatIsNewer(t *testing.T) {
	const (
		sizeofAttr       = 32    // of struct mount_attr
		moveMountBeneath = 0x200 // MOVE_MOUNT_BENEATH
	)
	var attr [sizeofAttr]byte
	name := []byte("name\x00")
	for _, test := range []struct {
		what string
		want unix.Errno
		trap uintptr
		args [5]uintptr
	}{
		{"close_range", 0, unix.SYS_CLOSE_RANGE, [5]uintptr{none, none}},
		{"close_range, CLOEXEC", unix.EINVAL, unix.SYS_CLOSE_RANGE, [5]uintptr{none, none, unix.CLOSE_RANGE_CLOEXEC}},
		{"mount_setattr", unix.ENOSYS, unix.SYS_MOUNT_SETATTR, [5]uintptr{none, uintptr(unsafe.Pointer(&name[0])), 0, uintptr(unsafe.Pointer(&attr)), sizeofAttr}},
		{"seccomp, listener", unix.EFAULT, unix.SYS_SECCOMP, [5]uintptr{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}},
		{"seccomp, WAIT_KILLABLE_RECV", unix.EINVAL, unix.SYS_SECCOMP, [5]uintptr{
			unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		}},
		{"pidfd_open, NONBLOCK", unix.ESRCH, unix.SYS_PIDFD_OPEN, [5]uintptr{none, unix.PIDFD_NONBLOCK}},
		{"pidfd_open, THREAD", unix.EINVAL, unix.SYS_PIDFD_OPEN, [5]uintptr{none, unix.PIDFD_THREAD}},
		{"move_mount", unix.EFAULT, unix.SYS_MOVE_MOUNT, [5]uintptr{none, 0, none, 0, unix.MOVE_MOUNT_F_EMPTY_PATH}},
		{"move_mount, BENEATH", unix.EINVAL, unix.SYS_MOVE_MOUNT, [5]uintptr{none, 0, none, 0, moveMountBeneath}},
	} {
		var got unix.Errno
		err := oldkernel.Do(func() error {
			_, _, got = unix.RawSyscall6(test.trap, test.args[0], test.args[1], test.args[2], test.args[3], test.args[4], 0)
			return nil
		})
		if err != nil || got != test.want {
			t.Errorf("%s: got %v, %v; want %v", test.what, got, err, test.want)
		}
	}
}

// TestIsInherited checks that children inherit the filter, and that this process is not changed.
func TestIsInherited(t *testing.T) {
	err := oldkernel.Do(func() error { return exec.Command("grep", "-q", "^Seccomp:.2$", "/proc/self/status").Run() })
	if err != nil {
		t.Errorf("a child: %v", err)
	}
	if err := unix.CloseRange(uint(none), uint(none), unix.CLOSE_RANGE_CLOEXEC); errors.Is(err, unix.EINVAL) {
		t.Error("this process is on an old kernel afterwards")
	}
}
