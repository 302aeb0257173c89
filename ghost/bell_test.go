package ghost

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestBell has a shard be woken by its bell, which stops once for that, and does not run.
func TestBell(t *testing.T) {
	const rings = 200
	f := newFixture(t)
	pid := f.ghost(t, 0, "g")
	before := f.bellSwitches(t)
	for range rings {
		f.must(t, &wire.GhostSync{PID: pid})
	}
	if got := f.bellSwitches(t) - before; got > rings+rings/4 {
		t.Errorf("for %d requests the bells have been switched to %d times", rings, got)
	}
	f.end(t, pid, 0)
}

// TestBellSignalled has bells get signals of somebody else: they ring as ever.
func TestBellSignalled(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, 0, "g")
	for range 2 {
		for _, bell := range f.bells(t) {
			for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGCONT, unix.SIGSTOP, unix.SIGUSR1, unix.SIGCONT} {
				if err := unix.Kill(int(bell), sig); err != nil {
					t.Fatal(err)
				}
				f.must(t, &wire.GhostSync{PID: pid})
			}
		}
	}
	f.end(t, pid, 0)
}

// TestBellKilled has somebody kill the bell of a shard, which would be deaf, while that has a
// zombie, and so is told of no ends: the keeper ends.
func TestBellKilled(t *testing.T) {
	f := newFixture(t)
	parent := f.ghost(t, 0, "g")
	const zombie wire.PID = 2400000
	f.must(t, &wire.GhostFork{Parent: parent, Child: zombie})
	f.must(t, &wire.GhostExit{PID: zombie, Zombie: true})
	st, err := readStatus(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, bell := range f.bells(t) {
		if b, err := readStatus(bell); err != nil || b.tracer != st.tracer {
			continue
		}
		if err := unix.Kill(int(bell), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- f.keeper.Wait() }()
		select {
		case <-ended:
		case <-time.After(patience):
			_ = f.keeper.Process.Kill()
			<-ended
			t.Error("the keeper goes on with a bell that has ended")
		}
		if got := f.keeper.ProcessState.ExitCode(); got != exitBell {
			t.Errorf("exit code %d, want %d", got, exitBell)
		}
		f.keeper = nil
		return
	}
	t.Fatal("the shard has no bell")
}

// bells returns the bells of the keeper.
func (f *fixture) bells(t testing.TB) (bells []wire.PID) {
	t.Helper()
	for _, pid := range running(t, imageOf(t)) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.HasPrefix(string(line), "bpkeeper-bell") {
			bells = append(bells, pid)
		}
	}
	if len(bells) == 0 {
		t.Fatal("the keeper has no bell")
	}
	return bells
}

// bellSwitches returns how often the bells have waited so far.
func (f *fixture) bellSwitches(t testing.TB) (count int) {
	t.Helper()
	for _, pid := range f.bells(t) {
		text, err := readProc(pid, "status")
		if err != nil {
			t.Fatal(err)
		}
		var n [1]uint64
		if err := statusField(text, "voluntary_ctxt_switches:", 10, n[:]); err != nil {
			t.Fatal(err)
		}
		count += int(n[0])
	}
	return count
}
