package ghost

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestCallsWithoutCapability has a ghost of root send signals for a process without CAP_KILL: it
// reaches root's processes, and all processes when its process has CAP_KILL.
func TestCallsWithoutCapability(t *testing.T) {
	f := newFixture(t)
	root, user := f.ghost(t, 0, "root"), f.ghost(t, nobody, "user")
	sleeper := func(uid uint32) int64 {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &unix.SysProcAttr{Credential: &unixCredential{Uid: uid, Gid: uid}, Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		return int64(cmd.Process.Pid)
	}
	others, own := sleeper(12346), sleeper(0)
	info := signalInfo(0, siQueue)
	for range 2 { // the second round sees what the calls of the first leave behind
		for _, c := range []struct {
			name string
			by   wire.PID
			to   int64
			weak bool
			want unix.Errno
		}{
			{"root to a user", root, others, false, 0},
			{"root without CAP_KILL to a user", root, others, true, unix.EPERM},
			{"root without CAP_KILL to root", root, own, true, 0},
			{"root to a user again", root, others, false, 0},
			{"a user to another", user, others, false, unix.EPERM},
			{"a user without CAP_KILL to another", user, others, true, unix.EPERM},
			{"a user to itself", user, int64(user), true, 0},
		} {
			m := &wire.GhostCall{PID: c.by, Op: wire.CallKill, Args: []int64{c.to, 0}, NoKill: c.weak}
			if got := f.ask(t, m); got != c.want {
				t.Errorf("kill: %s: got %v, want %v", c.name, got, c.want)
			}
			m.Op, m.Info = wire.CallSigqueue, info[:]
			if got := f.ask(t, m); got != c.want {
				t.Errorf("sigqueue: %s: got %v, want %v", c.name, got, c.want)
			}
		}
	}
	for _, pid := range []wire.PID{root, user} {
		f.end(t, pid, wire.ExitStatus(0))
	}
}
