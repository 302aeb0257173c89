package supervise

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestIDs reads the IDs of this program, and those of one in a user namespace of its own, which
// knows its IDs by other numbers.
func TestIDs(t *testing.T) {
	v := ownView(t)
	v.users = userNamespace()
	user, effective, saved := unix.Getresuid()
	if got, ok := v.ids(uint32(unix.Gettid()), users); !ok || got != (ids{uint32(user), uint32(effective), uint32(saved)}) {
		t.Errorf("users: got %v, %v, want %d %d %d", got, ok, user, effective, saved)
	}
	group, effective, saved := unix.Getresgid()
	if got, ok := v.ids(uint32(unix.Gettid()), groups); !ok || got != (ids{uint32(group), uint32(effective), uint32(saved)}) {
		t.Errorf("groups: got %v, %v, want %d %d %d", got, ok, group, effective, saved)
	}
	if got, ok := v.ids(1<<22, users); ok {
		t.Errorf("nobody has %v", got)
	}
	inside := exec.Command("cat")
	inside.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	stdin, err := inside.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Start(); err != nil {
		t.Fatal(err)
	}
	defer inside.Wait() // it ends when its input does
	defer stdin.Close()
	if got, ok := v.ids(uint32(inside.Process.Pid), users); ok {
		t.Errorf("a process of user %d in a namespace further in has %v", os.Getuid(), got)
	}
}
