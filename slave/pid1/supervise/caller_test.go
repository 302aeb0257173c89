package supervise

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func TestInnerNumber(t *testing.T) {
	for _, c := range []struct {
		name, status string
		level        Level
		want         wire.PID
		ok           bool
	}{
		{"in the space", "Name:\tx\nNStgid:\t1234\t70001\nNSpid:\t1235\t70002\n", Outside, 70001, true},
		{"seen from inside", "Name:\tx\nNStgid:\t70001\n", Inside, 70001, true},
		{"further in, seen from inside", "Name:\tx\nNStgid:\t70001\t5\n", Inside, 0, false},
		{"outside", "Name:\tx\nNStgid:\t1234\nNSpid:\t1235\n", Outside, 0, false},
		{"further in", "Name:\tx\nNStgid:\t1234\t70001\t5\n", Outside, 0, false},
		{"name that tries", "Name:\tNStgid:\t1\t2\nNStgid:\t1234\t70001\n", Outside, 70001, true},
		{"cut off", "Name:\tx\nNStgid:\t1234\t700", Outside, 0, false},
		{"nothing", "", Outside, 0, false},
	} {
		if got, ok := innerNumber([]byte(c.status), c.level); got != c.want || ok != c.ok {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// The line is within what is read, and there in this kernel's form.
func TestStatusFile(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(status), string(numbersLine)); at < 0 || at > statusSize/2 {
		t.Errorf("the line is at %d, want it well within %d", at, statusSize)
	}
}

func TestSizesOfNotifications(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"seccomp_data", unsafe.Sizeof(seccompData{}), 64},
		{"seccomp_notif", unsafe.Sizeof(notif{}), 80},
		{"seccomp_notif_resp", unsafe.Sizeof(resp{}), 24},
		// The size is part of an ioctl's number (asm-generic/ioctl.h).
		{"SECCOMP_IOCTL_NOTIF_RECV", unix.SECCOMP_IOCTL_NOTIF_RECV >> 16 & 0x3fff, 80},
		{"SECCOMP_IOCTL_NOTIF_SEND", unix.SECCOMP_IOCTL_NOTIF_SEND >> 16 & 0x3fff, 24},
		{"SECCOMP_IOCTL_NOTIF_SET_FLAGS", ioctlSetFlags >> 16 & 0x3fff, 8},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, c.got, c.want)
		}
	}
}
