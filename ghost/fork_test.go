package ghost

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestSibling has ghosts make siblings: children of their own parents.
func TestSibling(t *testing.T) {
	f := newFixture(t)
	maker := f.ghost(t, nobody, "maker")
	const child, sibling, grandchild wire.PID = 2100000, 2100001, 2100002
	f.must(t, &wire.GhostFork{Parent: maker, Child: child})
	f.must(t, &wire.GhostJoin{PID: child, PGID: child, SID: child})
	f.must(t, &wire.GhostFork{Parent: child, Child: grandchild, Sibling: true})
	if got := statField(t, grandchild, 1); got != maker.String() {
		t.Errorf("parent of %d: %s, want %d", grandchild, got, maker)
	}
	if got := statField(t, grandchild, 3); got != child.String() {
		t.Errorf("session of %d: %s, want %d", grandchild, got, child)
	}
	if errno := f.ask(t, &wire.GhostFork{Parent: maker, Child: child, Sibling: true}); errno != unix.EEXIST {
		t.Errorf("a number twice: %v", errno)
	}

	// The test is the parent of the sibling, which it did not make, and can wait for it.
	f.stop(t, maker, unix.SIGTSTP)
	f.must(t, &wire.GhostFork{Parent: maker, Child: sibling, Sibling: true})
	if got, want := statField(t, sibling, 1), wire.PID(os.Getpid()).String(); got != want {
		t.Errorf("parent of %d: %s, want %s", sibling, got, want)
	}
	if got, want := statField(t, sibling, 2), statField(t, maker, 2); got != want {
		t.Errorf("group of %d: %s, want %s", sibling, got, want)
	}
	if err := unix.Kill(int(sibling), unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if sig, _ := f.signal(t, sibling); sig != unix.SIGTERM {
		t.Errorf("got %v", sig)
	}
	if st := f.end(t, sibling, wire.ExitStatus(3)); st.ExitStatus() != 3 {
		t.Errorf("status %#x", st)
	}
	for _, pid := range []wire.PID{grandchild, child} {
		f.must(t, &wire.GhostExit{PID: pid})
		f.gone(t, pid)
	}
	f.end(t, maker, 0)
}
