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
	// A group without its leader: the shell starts the other process and ends.
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 &")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	group := wire.PID(cmd.Process.Pid)
	defer unix.Kill(-int(group), unix.SIGKILL)

	if got, err := k.group(me); err != nil || got != wire.PID(unix.Getpgrp()) {
		t.Errorf("group: %d, %v", got, err)
	}
	if got, err := k.session(me); err != nil || got != wire.PID(session) {
		t.Errorf("session: %d, %v", got, err)
	}
	if got, err := k.parent(me); err != nil || got != wire.PID(os.Getppid()) {
		t.Errorf("parent: %d, %v", got, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		t.Fatal(err)
	}
	if got, err := k.limit(me); err != nil || got != limit.Cur {
		t.Errorf("limit: %d, %v, want %d", got, err, limit.Cur)
	}
	if got, err := k.owner(me); err != nil || got != uint32(os.Geteuid()) {
		t.Errorf("owner: %d, %v", got, err)
	}
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"limit of nobody", third(k.limit(0)), unix.ESRCH},
		{"group of nobody", second(k.group(-1)), unix.ESRCH},
		{"session of nobody", second(k.session(-1)), unix.ESRCH},
		{"this process", k.exists(me), nil},
		{"the leader", k.exists(group), unix.ESRCH},
		{"its group", k.exists(-group), nil},
		{"a member", k.member(group, wire.PID(session)), nil},
		{"a member in another session", k.member(group, group), unix.EPERM},
		{"a member of no group", k.member(1<<22, wire.PID(session)), unix.EPERM},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.err, c.want)
		}
	}
}

func second(_ wire.PID, err error) error { return err }
func third(_ uint64, err error) error    { return err }
