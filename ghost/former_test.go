package ghost

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// killKeeper ends the keeper by SIGKILL.
func (f *fixture) killKeeper(t *testing.T) {
	t.Helper()
	if err := f.keeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.keeper.Wait() // the error says that it was killed
	f.keeper = nil
}

// TestFormer has the next keeper find what a killed keeper has left.
func TestFormer(t *testing.T) {
	first := newFixture(t)
	runs, stopped := first.ghost(t, nobody, "runs"), first.ghost(t, nobody, "stopped")
	dies, zombie := first.ghost(t, nobody, "dies"), first.ghost(t, nobody, "zombie")
	const child, orphan = wire.PID(2000000), wire.PID(2000001)
	first.must(t, &wire.GhostFork{Parent: runs, Child: child})
	first.must(t, &wire.GhostFork{Parent: child, Child: orphan})
	first.must(t, &wire.GhostUser{PID: child, User: ids(alice, alice, alice), Group: ids(alice, alice, alice)})
	first.stop(t, stopped, unix.SIGTSTP)
	first.must(t, &wire.GhostSync{PID: stopped})
	first.tell(t, &wire.GhostExit{PID: zombie, Zombie: true})
	eventually(t, "the ghost is a zombie", func() bool { return statField(t, zombie, 0) == "Z" })
	if err := unix.Kill(int(dies), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	first.signal(t, dies)
	lonely := start(t, nobody, "lonely")
	first.killKeeper(t)
	endsFreed(t, dies, zombie)
	// Signals that come while there is no keeper stay pending, as natively.
	if err := queueSignal(stopped, unix.SIGUSR1, 7); err != nil {
		t.Fatal(err)
	}

	f := newFixture(t)
	f.found(t, []wire.PID{runs, stopped, child, orphan}, stopped)
	if got := f.ask(t, &wire.GhostAdopt{PID: runs, UID: AnyUser}); got != unix.EEXIST {
		t.Errorf("a ghost that is held: %v", got)
	}
	f.must(t, &wire.GhostAdopt{PID: lonely, Parent: wire.PID(os.Getpid()), UID: nobody})
	f.continued(t, stopped, "10 with 7")
	for _, pid := range []wire.PID{runs, child, orphan} {
		if err := queueSignal(pid, unix.SIGTERM, 9); err != nil {
			t.Fatal(err)
		}
		if sig, _ := f.signal(t, pid); sig != unix.SIGTERM {
			t.Errorf("ghost %d got %d", pid, sig)
		}
	}
	f.must(t, &wire.GhostFork{Parent: orphan, Child: orphan + 1})
	for _, pid := range []wire.PID{orphan + 1, orphan, child} { // no process waits for them
		f.tell(t, &wire.GhostExit{PID: pid})
		f.gone(t, pid)
	}
	for _, pid := range []wire.PID{runs, stopped, lonely} {
		f.end(t, pid, 0)
	}
}

// endsFreed checks how the ghosts end that the keeper held in their exit, after it has ended.
func endsFreed(t *testing.T, dies, zombie wire.PID) {
	t.Helper()
	if st := wait(t, dies, 0); st.Signal() != unix.SIGKILL {
		t.Errorf("a ghost held in its exit: status %#x", st)
	}
	if st := wait(t, zombie, 0); st.ExitStatus() != 0 {
		t.Errorf("a ghost held as a zombie: status %#x", st)
	}
}

// found checks which ghosts the keeper reports as held, and which one as stopped; 0: none.
func (f *fixture) found(t *testing.T, held []wire.PID, stopped wire.PID) {
	t.Helper()
	slices.Sort(held)
	if got := f.client.Held(); !slices.Equal(got, held) {
		t.Errorf("held %v, want %v", got, held)
	}
	want := []wire.PID{stopped}
	if stopped == 0 {
		want = nil
	}
	if got := f.client.Stopped(); !slices.Equal(got, want) {
		t.Errorf("stopped %v, want %v", got, want)
	}
}

// continued continues a stopped ghost, which then also gets the pending signal: its number and its
// value.
func (f *fixture) continued(t *testing.T, pid wire.PID, waits string) {
	t.Helper()
	eventually(t, "it is stopped", func() bool { s := statField(t, pid, 0); return s == "T" || s == "t" })
	if err := unix.Kill(int(pid), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
		t.Errorf("SIGCONT: status %#x", st)
	}
	got := []string{}
	for range 2 {
		sig, info := f.signal(t, pid)
		got = append(got, fmt.Sprintf("%d with %d", sig, info.value()))
	}
	if slices.Sort(got); !slices.Equal(got, []string{waits, fmt.Sprintf("%d with 0", unix.SIGCONT)}) {
		t.Errorf("the stopped one got %v", got)
	}
}

// TestFormerDeathSignal checks that a ghost keeps the death signal that the former keeper has set,
// though it executes the image anew, which makes the kernel forget it.
func TestFormerDeathSignal(t *testing.T) {
	first := newFixture(t)
	parent := first.ghost(t, 0, "sh")
	const exec, none = wire.PID(2000100), wire.PID(2000101)
	for _, child := range []wire.PID{exec, none} {
		first.must(t, &wire.GhostFork{Parent: parent, Child: child})
	}
	first.must(t, &wire.GhostTrait{PID: exec, Option: unix.PR_SET_PDEATHSIG, Value: uint32(unix.SIGUSR1)})
	first.killKeeper(t)
	f := newFixture(t)
	for _, child := range []wire.PID{exec, none} {
		f.must(t, &wire.GhostExec{PID: child, Argv: []string{"cc"}})
	}
	f.end(t, parent, 0)
	f.expect(t, exec, unix.SIGUSR1, parent, 0)
	f.must(t, &wire.GhostSync{PID: none})
	f.quiet(t)
	for _, child := range []wire.PID{exec, none} {
		f.tell(t, &wire.GhostExit{PID: child})
		f.gone(t, child)
		wait(t, child, 0) // a child of init, which the test is
	}
}

// TestFormerOfMany has a keeper killed while it drives many ghosts.
func TestFormerOfMany(t *testing.T) {
	first := newFixture(t)
	var ghosts []wire.PID
	for i := range wire.PID(20) {
		pid := first.ghost(t, 0, "g")
		ghosts = append(ghosts, pid)
		for j := range wire.PID(10) {
			child := 2100000 + 10*i + j
			first.must(t, &wire.GhostFork{Parent: pid, Child: child})
			ghosts = append(ghosts, child)
		}
	}
	for _, pid := range ghosts {
		first.tell(t, &wire.GhostExec{PID: pid, Argv: []string{"h"}})
	}
	first.must(t, &wire.GhostSync{PID: ghosts[0]}) // the first ones are done, others are not
	first.killKeeper(t)
	f := newFixture(t)
	slices.Sort(ghosts)
	if held := f.client.Held(); !slices.Equal(held, ghosts) {
		t.Errorf("held %d ghosts, want %d", len(held), len(ghosts))
	}
	for _, pid := range slices.Backward(ghosts) { // children first: their parents' ghosts ignore SIGCHLD
		f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"i"}})
		f.tell(t, &wire.GhostExit{PID: pid})
	}
	for _, pid := range ghosts {
		f.gone(t, pid)
		if pid < 2100000 {
			wait(t, pid, 0)
		}
	}
}

// TestFormerStopping has a keeper die when it is about to stop ghosts: the signals that it has sent
// for that must not end them.
func TestFormerStopping(t *testing.T) {
	first := newFixture(t)
	var ghosts []wire.PID
	for range 50 {
		ghosts = append(ghosts, first.ghost(t, nobody, "g"))
	}
	for _, pid := range ghosts {
		first.tell(t, &wire.GhostStop{PID: pid, Signal: uint8(unix.SIGTSTP)})
	}
	first.killKeeper(t)
	if err := queueSignal(ghosts[0], markSignal, 1); err != nil { // the latest possible moment
		t.Fatal(err)
	}
	f := newFixture(t)
	if held := f.client.Held(); len(held) != len(ghosts) {
		t.Errorf("%d ghosts are left, want %d", len(held), len(ghosts))
	}
	for _, pid := range ghosts {
		f.tell(t, &wire.GhostStop{PID: pid, Signal: uint8(unix.SIGTSTP)})
		if st := wait(t, pid, unix.WUNTRACED); !st.Stopped() {
			t.Errorf("stop: status %#x", st)
		}
		f.tell(t, &wire.GhostCont{PID: pid})
	}
	for _, pid := range ghosts {
		if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
			t.Errorf("continue: status %#x", st)
		}
		f.end(t, pid, 0)
	}
}

// TestFormerStopped checks that a shard knows that a ghost is stopped as soon as the ghost is
// seized: a master that was told otherwise would let the process go on.
func TestFormerStopped(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	for i := range 20 { // some are stopped before their first instruction
		pid, stopped := formerly(t, 0, "g"), i%2 == 1
		if stopped {
			if err := unix.Kill(int(pid), unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			wait(t, pid, unix.WUNTRACED)
		}
		if err := s.adopt(&wire.GhostAdopt{PID: pid, UID: AnyUser}); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(s.owners.list().Stopped, pid); got != stopped {
			t.Errorf("stopped: %v, want %v", got, stopped)
		}
		s.end(t, s.ghosts[pid], wire.ExitStatus(0))
		wait(t, pid, 0)
	}
}
