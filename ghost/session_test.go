package ghost

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestOrphanedGroup has the kernel orphan a group with a stopped member: its SIGHUP and SIGCONT are
// not the process's, which stays stopped.
func TestOrphanedGroup(t *testing.T) {
	const parent wire.PID = 2100000
	t.Run("session of a ghost", func(t *testing.T) {
		orphanedGroup(t, &wire.GhostJoin{PID: parent, PGID: parent, SID: parent})
	})
	t.Run("session of the front end", func(t *testing.T) {
		orphanedGroup(t, &wire.GhostJoin{PID: parent, PGID: parent})
	})
}

func orphanedGroup(t *testing.T, join *wire.GhostJoin) {
	t.Helper()
	f := newFixture(t)
	maker, leader := f.inSession(t)
	parent := join.PID
	child := parent + 1
	f.must(t, &wire.GhostFork{Parent: maker, Child: parent})
	f.must(t, join)
	f.must(t, &wire.GhostFork{Parent: parent, Child: child})
	f.must(t, &wire.GhostJoin{PID: child, PGID: child})
	if err := wire.Write(f.client, 0, &wire.GhostStop{PID: child, Signal: uint8(unix.SIGSTOP)}); err != nil {
		t.Fatal(err)
	}
	stopped := func() bool { s := statField(t, child, 0); return s == "T" || s == "t" }
	eventually(t, "it is stopped", stopped)
	f.must(t, &wire.GhostSync{PID: child})
	if err := unix.Kill(int(child), unix.SIGWINCH); err != nil { // it gets this when it goes on, after SIGCONT
		t.Fatal(err)
	}
	f.must(t, &wire.GhostExit{PID: parent})
	f.gone(t, parent)
	if got, _ := f.signal(t, child); got != unix.SIGWINCH {
		t.Errorf("got %v, want %v", got, unix.SIGWINCH)
	}
	f.must(t, &wire.GhostSync{PID: child})
	eventually(t, "it is stopped again", stopped)
	if err := wire.Write(f.client, 0, &wire.GhostCont{PID: child}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it goes on", func() bool { return statField(t, child, 0) == "S" })
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGHUP} { // these come from another process
		if err := unix.Kill(int(child), sig); err != nil {
			t.Fatal(err)
		}
		if got, _ := f.signal(t, child); got != sig {
			t.Errorf("got %v, want %v", got, sig)
		}
	}
	f.must(t, &wire.GhostExit{PID: child})
	f.gone(t, child)
	if err := wire.Write(f.client, 0, &wire.GhostExit{PID: maker}); err != nil {
		t.Fatal(err)
	}
	if err := leader.Wait(); err != nil {
		t.Error(err)
	}
}

// inSession makes a ghost in a session of the front end whose leader is not a ghost.
func (f *fixture) inSession(t *testing.T) (pid wire.PID, leader *exec.Cmd) {
	t.Helper()
	leader = exec.Command("/bin/sh", "-c", imageOf(t)+" & echo $!; wait")
	leader.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	out, err := leader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exec of the image", func() bool {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return exe == imageOf(t)
	})
	f.must(t, &wire.GhostAdopt{PID: pid, Parent: wire.PID(leader.Process.Pid), UID: 0})
	return pid, leader
}

func TestRemoteGroup(t *testing.T) {
	own := wire.PID(os.Getpid())
	leader := ownSession(t)
	s := &shard{owners: newRegistry()}
	if s.remoteGroup(own) {
		t.Error("the session of this program is taken for a remote one")
	}
	s.owners.set(leader, s)
	if !s.remoteGroup(own) {
		t.Error("a session that a ghost leads is not taken for a remote one")
	}
}

func ownSession(t *testing.T) wire.PID {
	t.Helper()
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	return wire.PID(sid)
}
