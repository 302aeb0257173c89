package ghost

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

const (
	alice = 1000
	bob   = 1001
)

// as runs a shell command as a user, and reports whether it has succeeded.
func as(t *testing.T, uid uint32, format string, args ...any) bool {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(format, args...))
	cmd.SysProcAttr = &unix.SysProcAttr{Credential: &unixCredential{Uid: uid, Gid: uid}}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return err == nil
}

func ids(real, effective, saved uint32) wire.IDs {
	return wire.IDs{Real: real, Effective: effective, Saved: saved}
}

func same(uid uint32) wire.IDs { return ids(uid, uid, uid) }

// become changes a ghost's credentials and checks them.
func (f *fixture) become(t *testing.T, pid wire.PID, user, group wire.IDs) {
	t.Helper()
	f.must(t, &wire.GhostUser{PID: pid, User: user, Group: group})
	f.is(t, pid, user, group)
}

// is checks a ghost's credentials, that it can make ghosts, and that the kernel permits signals as
// for its process.
func (f *fixture) is(t *testing.T, pid wire.PID, user, group wire.IDs) {
	t.Helper()
	st, err := readStatus(pid)
	if err != nil {
		t.Fatal(err)
	}
	if st.user != user || st.group != group {
		t.Errorf("users %v, groups %v, want %v and %v", st.user, st.group, user, group)
	}
	if root := user.Effective == 0; root != (st.capable != imageCapabilities) || st.capable&imageCapabilities != imageCapabilities {
		t.Errorf("as user %v it has the capabilities %#x", user, st.capable)
	}
	f.next++
	child := f.next + 2500000
	f.must(t, &wire.GhostFork{Parent: pid, Child: child})
	if got, err := readStatus(child); err != nil || got.user != user || got.capable != st.capable {
		t.Errorf("a child of %v is %v with the capabilities %#x, %v", user, got.user, got.capable, err)
	}
	if err := wire.Write(f.client, 0, &wire.GhostExit{PID: child}); err != nil {
		t.Fatal(err)
	}
	f.gone(t, child)
	// kill(2): the sender's real or effective user is the target's real or saved one.
	for _, uid := range []uint32{alice, bob} {
		want := uid == user.Real || uid == user.Saved
		if got := as(t, uid, "kill -0 %d", pid); got != want {
			t.Errorf("user %d may signal a ghost of user %v: %v", uid, user, got)
		}
		// No other user may trace it, whoever owns it.
		for _, file := range traced {
			if as(t, uid, ": </proc/%d/%s", pid, file) {
				t.Errorf("user %d may open %s of a ghost of user %v", uid, file, user)
			}
		}
	}
}

// traced are files of proc(5) that only a tracer may open.
var traced = []string{"environ", "exe", "mem", "maps"}

func TestUser(t *testing.T) {
	for _, file := range traced {
		if !as(t, alice, ": </proc/$$/%s", file) {
			t.Fatalf("nobody may open %s", file)
		}
	}
	f := newFixture(t)
	pid := f.ghost(t, alice, "login", "-f")
	victims := map[uint32]wire.PID{0: f.ghost(t, 0, "r"), alice: f.ghost(t, alice, "a"), bob: f.ghost(t, bob, "b")}
	f.is(t, pid, same(alice), same(alice))
	for _, user := range []wire.IDs{
		same(0), same(bob), ids(alice, 0, 0), ids(alice, alice, 0), ids(alice, 0, 0), ids(0, 0, 0), ids(0, bob, 0), ids(0, bob, bob),
		ids(bob, 0, bob), ids(bob, bob, bob), ids(alice, bob, bob), ids(alice, 0, bob), same(alice), same(0),
	} {
		group := ids(user.Saved, user.Real, user.Effective)
		f.become(t, pid, user, group)
		if name, _ := commandLine(pid); strings.Join(name, " ") != "login -f" {
			t.Errorf("as user %v it is called %q", user, name)
		}
		for uid, victim := range victims {
			want := unix.EPERM
			if user.Effective == 0 || uid == user.Real || uid == user.Effective {
				want = 0
			}
			if got := f.ask(t, &wire.GhostCall{PID: pid, Op: wire.CallKill, Args: []int64{int64(victim), 0}}); got != want {
				t.Errorf("user %v signals user %d: got %v, want %v", user, uid, got, want)
			}
		}
		// The next program.
		f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"login", "-f"}})
		user.Saved, group.Saved = user.Effective, group.Effective
		f.is(t, pid, user, group)
	}
	f.quiet(t)
	for _, victim := range victims {
		f.end(t, victim, 0)
	}
	f.end(t, pid, 0)
}

// TestSameUser leaves some of a ghost's credentials unchanged.
func TestSameUser(t *testing.T) {
	const same = ^uint32(0)
	f := newFixture(t)
	pid := f.ghost(t, alice, "su")
	f.must(t, &wire.GhostUser{PID: pid, User: ids(same, 0, same), Group: ids(same, same, bob)})
	f.is(t, pid, ids(alice, 0, alice), ids(alice, alice, bob))
	f.must(t, &wire.GhostUser{PID: pid, User: ids(bob, same, same), Group: ids(same, same, same)})
	f.is(t, pid, ids(bob, 0, alice), ids(alice, alice, bob))
	f.end(t, pid, 0)
}

// TestUserOfStopped changes the credentials of a ghost that is stopped.
func TestUserOfStopped(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, alice, "su")
	f.stop(t, pid, unix.SIGTSTP)
	f.become(t, pid, same(0), same(0))
	f.become(t, pid, ids(bob, 0, bob), same(bob))
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"sh"}})
	eventually(t, "the ghost is stopped again", func() bool { s := statField(t, pid, 0); return s == "T" || s == "t" })
	var st unix.WaitStatus
	if got, err := unix.Wait4(int(pid), &st, unix.WNOHANG|unix.WUNTRACED|unix.WCONTINUED, nil); got != 0 || err != nil {
		t.Errorf("the parent was told %#x, %v", st, err)
	}
	f.end(t, pid, 0)
}

// TestUserOfFound has the next keeper continue with a ghost that changed its user.
func TestUserOfFound(t *testing.T) {
	first := newFixture(t)
	pid := first.ghost(t, alice, "su")
	first.become(t, pid, ids(alice, 0, 0), same(0))
	first.stop(t, pid, unix.SIGTSTP)
	first.stopKeeper(t)
	f := newFixture(t)
	// It was stopped, and the new keeper knows that.
	if err := wire.Write(f.client, 0, &wire.GhostCont{PID: pid}); err != nil {
		t.Fatal(err)
	}
	if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
		t.Fatalf("continue: status %#x", st)
	}
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"sh"}})
	f.is(t, pid, ids(alice, 0, 0), same(0))
	f.become(t, pid, same(bob), same(bob))
	f.end(t, pid, 0)
}

func TestReaper(t *testing.T) {
	f := newFixture(t)
	reaper := f.ghost(t, alice, "init")
	f.must(t, &wire.GhostTrait{PID: reaper, Option: unix.PR_SET_CHILD_SUBREAPER, Value: 1})
	f.must(t, &wire.GhostExec{PID: reaper, Argv: []string{"systemd"}}) // it stays a subreaper
	if got := f.ask(t, &wire.GhostTrait{PID: reaper, Option: unix.PR_SET_DUMPABLE, Value: 1}); got != unix.EINVAL {
		t.Errorf("another trait: %v", got)
	}
	middle, orphan := wire.PID(2600000), wire.PID(2600001)
	f.must(t, &wire.GhostFork{Parent: reaper, Child: middle})
	f.must(t, &wire.GhostFork{Parent: middle, Child: orphan})
	if err := wire.Write(f.client, 0, &wire.GhostExit{PID: middle}); err != nil {
		t.Fatal(err)
	}
	f.gone(t, middle)
	if got := statField(t, orphan, 1); got != reaper.String() {
		t.Errorf("the orphan's parent is %s, want %d", got, reaper)
	}
	f.end(t, reaper, 0)
	if got := statField(t, orphan, 1); got == reaper.String() {
		t.Errorf("the orphan's parent is still %s", got)
	}
	if err := wire.Write(f.client, 0, &wire.GhostExit{PID: orphan}); err != nil {
		t.Fatal(err)
	}
	f.gone(t, orphan)
}

func TestDeathSignal(t *testing.T) {
	f := newFixture(t)
	parent := f.ghost(t, alice, "p")
	for _, c := range []struct {
		name string
		do   func(pid wire.PID)
		want bool
	}{
		{"set", func(wire.PID) {}, true},
		{"program executed", func(pid wire.PID) { f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"c"}}) }, true},
		{"set back", func(pid wire.PID) { f.must(t, &wire.GhostTrait{PID: pid, Option: unix.PR_SET_PDEATHSIG}) }, false},
		{"real user changed", func(pid wire.PID) { f.become(t, pid, ids(bob, alice, alice), same(alice)) }, true},
		{"user changed", func(pid wire.PID) { f.become(t, pid, same(bob), same(alice)) }, false},
		{"group changed", func(pid wire.PID) { f.become(t, pid, same(alice), same(bob)) }, false},
		{"program executed as another", func(pid wire.PID) {
			f.become(t, pid, ids(alice, 0, 0), same(alice))
			f.must(t, &wire.GhostTrait{PID: pid, Option: unix.PR_SET_PDEATHSIG, Value: uint32(unix.SIGUSR1)})
			f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"c"}})
			f.is(t, pid, ids(alice, 0, 0), same(alice))
		}, true},
	} {
		middle, pid := f.next+2700000, f.next+2700001
		f.next += 2
		f.must(t, &wire.GhostFork{Parent: parent, Child: middle})
		f.must(t, &wire.GhostFork{Parent: middle, Child: pid})
		f.must(t, &wire.GhostTrait{PID: pid, Option: unix.PR_SET_PDEATHSIG, Value: uint32(unix.SIGUSR1)})
		c.do(pid)
		if err := wire.Write(f.client, 0, &wire.GhostExit{PID: middle}); err != nil {
			t.Fatal(err)
		}
		f.gone(t, middle)
		// The next signal shows whether there was a death signal.
		if err := unix.Kill(int(pid), unix.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		sig, _ := f.signal(t, pid)
		if got := sig == unix.SIGUSR1; got != c.want {
			t.Errorf("%s: its parent has ended: it got %v", c.name, sig)
		}
		if sig == unix.SIGUSR1 {
			f.signal(t, pid)
		}
		if err := wire.Write(f.client, 0, &wire.GhostExit{PID: pid}); err != nil {
			t.Fatal(err)
		}
		f.gone(t, pid)
	}
	f.end(t, parent, 0)
}
