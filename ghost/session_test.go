package ghost

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestOrphanedGroup has the kernel orphan a group of which a member is stopped, in a
// session that a ghost leads: its SIGHUP and SIGCONT are not the process's, which is
// stopped still.
func TestOrphanedGroup(t *testing.T) {
	f := newFixture(t)
	maker := f.ghost(t, nobody, "maker")
	const parent, child wire.PID = 2100000, 2100001
	f.must(t, &wire.GhostFork{Parent: maker, Child: parent})
	f.must(t, &wire.GhostJoin{PID: parent, PGID: parent, SID: parent})
	f.must(t, &wire.GhostFork{Parent: parent, Child: child})
	f.must(t, &wire.GhostJoin{PID: child, PGID: child})
	if err := wire.Write(f.client, 0, &wire.GhostStop{PID: child, Signal: uint8(unix.SIGSTOP)}); err != nil {
		t.Fatal(err)
	}
	stopped := func() bool { s := statField(t, child, 0); return s == "T" || s == "t" }
	eventually(t, "it is stopped", stopped)
	f.must(t, &wire.GhostSync{PID: child})
	if err := unix.Kill(int(child), unix.SIGWINCH); err != nil { // which it gets when it goes on, after SIGCONT
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
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGHUP} { // somebody's are
		if err := unix.Kill(int(child), sig); err != nil {
			t.Fatal(err)
		}
		if got, _ := f.signal(t, child); got != sig {
			t.Errorf("got %v, want %v", got, sig)
		}
	}
	f.must(t, &wire.GhostExit{PID: child})
	f.gone(t, child)
	f.end(t, maker, 0)
}

func TestRemoteSession(t *testing.T) {
	own := wire.PID(os.Getpid())
	leader := ownSession(t)
	s := &shard{owners: newRegistry()}
	if s.remoteSession(own) {
		t.Error("the session of this program is taken for a remote one")
	}
	s.owners.set(leader, s)
	if !s.remoteSession(own) {
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
