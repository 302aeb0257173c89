package master

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestKernel asks about processes of this machine.
func TestKernel(t *testing.T) {
	var k kernel
	me := wire.PID(os.Getpid())
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	// A group that its leader has left: the shell starts the other process and ends.
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 &")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	group := wire.PID(cmd.Process.Pid)
	defer unix.Kill(-int(group), unix.SIGKILL)

	if got, err := k.Group(me); err != nil || got != wire.PID(unix.Getpgrp()) {
		t.Errorf("group: %d, %v", got, err)
	}
	if got, err := k.Session(me); err != nil || got != wire.PID(session) {
		t.Errorf("session: %d, %v", got, err)
	}
	if got, err := k.Parent(me); err != nil || got != wire.PID(os.Getppid()) {
		t.Errorf("parent: %d, %v", got, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Limit(me); err != nil || got != limit.Cur {
		t.Errorf("limit: %d, %v, want %d", got, err, limit.Cur)
	}
	if got, err := k.Owner(me); err != nil || got != uint32(os.Geteuid()) {
		t.Errorf("owner: %d, %v", got, err)
	}
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"limit of nobody", third(k.Limit(0)), unix.ESRCH},
		{"group of nobody", second(k.Group(-1)), unix.ESRCH},
		{"session of nobody", second(k.Session(-1)), unix.ESRCH},
		{"this process", k.Signal(me), nil},
		{"the leader", k.Signal(group), unix.ESRCH},
		{"its group", k.Signal(-group), nil},
		{"a member", k.Member(group, wire.PID(session)), nil},
		{"a member in another session", k.Member(group, group), unix.EPERM},
		{"a member of no group", k.Member(1<<22, wire.PID(session)), unix.EPERM},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.err, c.want)
		}
	}
}

func second(_ wire.PID, err error) error { return err }
func third(_ uint64, err error) error    { return err }
