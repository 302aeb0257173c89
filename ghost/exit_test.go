package ghost

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func TestExitStatuses(t *testing.T) {
	f := newFixture(t)
	for code := range 256 {
		pid := f.ghost(t, 0, "g")
		if st := f.end(t, pid, wire.ExitStatus(code)); !st.Exited() || st.ExitStatus() != code {
			t.Errorf("exit code %d: status %#x", code, st)
		}
		if gone := f.gone(t, pid); !gone.Asked {
			t.Errorf("end of ghost %d was not asked for", pid)
		}
	}
	for sig := unix.Signal(1); sig <= 64; sig++ {
		want := sig
		switch sig {
		case unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
			want = unix.SIGKILL // these do not end a process
		}
		pid := f.ghost(t, nobody, "g")
		if st := f.end(t, pid, wire.SignalStatus(int(sig))); !st.Signaled() || st.Signal() != want {
			t.Errorf("signal %d: status %#x", sig, st)
		}
	}
	for _, sig := range []int{65, 126} {
		pid := f.ghost(t, nobody, "g")
		if st := f.end(t, pid, wire.SignalStatus(sig)); st.Signal() != unix.SIGKILL {
			t.Errorf("signal %d: status %#x", sig, st)
		}
	}
}

func TestKillHeld(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		f := newFixture(t)
		pid := f.ghost(t, nobody, "g")
		if stopped {
			f.stop(t, pid, unix.SIGSTOP)
		}
		for range 2 {
			if err := unix.Kill(int(pid), unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if sig, _ := f.signal(t, pid); sig != unix.SIGKILL {
			t.Fatalf("got %v", sig)
		}
		var st unix.WaitStatus
		if got, err := unix.Wait4(int(pid), &st, unix.WNOHANG, nil); got != 0 || err != nil {
			t.Fatalf("the parent sees %d, %v: %#x", got, err, st)
		}
		if errno := f.ask(t, &wire.GhostFork{Parent: pid, Child: 3000000}); errno != unix.ESRCH {
			t.Errorf("fork of a ghost held in its exit: %v", errno)
		}
		if st := f.end(t, pid, wire.ExitStatus(0)); st.Signal() != unix.SIGKILL {
			t.Errorf("status %#x", st)
		}
	}
}

// A SIGKILL that comes while the keeper drives a ghost must not end the ghost either.
func TestKillWhileDriven(t *testing.T) {
	f := newFixture(t)
	for i := range 200 {
		pid := f.ghost(t, 0, "g")
		for range 4 {
			f.number++
			if err := wire.Write(f.client, f.number, &wire.GhostExec{PID: pid, Argv: []string{"h"}}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(i) * 5 * time.Microsecond) // another moment each time
		if err := unix.Kill(int(pid), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if sig, _ := f.signal(t, pid); sig != unix.SIGKILL {
			t.Fatalf("got %v", sig)
		}
		var st unix.WaitStatus
		if got, err := unix.Wait4(int(pid), &st, unix.WNOHANG, nil); got != 0 || err != nil {
			t.Fatalf("round %d: the ghost has ended: %#x, %v", i, st, err)
		}
		if st := f.end(t, pid, wire.ExitStatus(0)); st.Signal() != unix.SIGKILL {
			t.Fatalf("round %d: status %#x", i, st)
		}
		if gone := f.gone(t, pid); !gone.Asked {
			t.Fatalf("round %d: the ghost ended unasked", i)
		}
	}
}
