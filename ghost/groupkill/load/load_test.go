package load_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill"
	"bproc/ghost/groupkill/load"
	"bproc/wire"
)

// TestSent sends signals to a process and to its group. Only the latter are noted, with their sender.
func TestSent(t *testing.T) {
	t.Run("this kernel", func(t *testing.T) { testSent(t, func(uint64) (*groupkill.Watch, error) { return load.Load() }) })
	t.Run("an old kernel", func(t *testing.T) { testSent(t, load.Old) })
}

func testSent(t *testing.T, open func(namespace uint64) (*groupkill.Watch, error)) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		t.Fatal(err)
	}
	w, err := open(st.Ino)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	group, self := wire.PID(c.Process.Pid), wire.PID(os.Getpid())
	kill := func(to wire.PID, sig unix.Signal) {
		t.Helper()
		if err := unix.Kill(int(to), sig); err != nil {
			t.Fatal(err)
		}
	}
	kill(group, unix.SIGCONT)
	if at := w.Sent(group, unix.SIGCONT, self); at != 0 {
		t.Errorf("a signal to a process is noted at %d", at)
	}
	kill(-group, unix.SIGCONT)
	first := w.Sent(group, unix.SIGCONT, self)
	if first == 0 {
		t.Error("a signal to a group is not noted")
	}
	kill(-group, unix.SIGCONT)
	if again := w.Sent(group, unix.SIGCONT, self); again <= first {
		t.Errorf("the second signal is noted at %d, the first at %d", again, first)
	}
	for _, other := range []struct {
		group, sender wire.PID
		signal        unix.Signal
	}{{group, self, unix.SIGTERM}, {group, self + 1, unix.SIGCONT}, {group + 1, self, unix.SIGCONT}} {
		if at := w.Sent(other.group, other.signal, other.sender); at != 0 {
			t.Errorf("%+v is noted at %d", other, at)
		}
	}
	kill(-group, unix.SIGKILL)
	if w.Sent(group, unix.SIGKILL, self) == 0 {
		t.Error("SIGKILL to a group is not noted")
	}
	_ = c.Wait() // it was killed
}

// TestOtherNamespace: kills of groups that the namespace does not see are not noted.
func TestOtherNamespace(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := load.At(1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	group := wire.PID(c.Process.Pid)
	if err := unix.Kill(-int(group), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	for _, sender := range []wire.PID{0, wire.PID(os.Getpid())} {
		if at := w.Sent(group, unix.SIGKILL, sender); at != 0 {
			t.Errorf("noted at %d", at)
		}
	}
}
