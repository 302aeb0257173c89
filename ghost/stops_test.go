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

// stop stops a ghost and waits until its parent has seen that.
func (f *fixture) stop(t *testing.T, pid wire.PID, sig unix.Signal) {
	t.Helper()
	if err := wire.Write(f.client, 0, &wire.GhostStop{PID: pid, Signal: uint8(sig)}); err != nil {
		t.Fatal(err)
	}
	if st := wait(t, pid, unix.WUNTRACED); !st.Stopped() || st.StopSignal() != sig {
		t.Fatalf("stop by %v: status %#x", sig, st)
	}
}

func TestStopAndContinue(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		f.stop(t, pid, sig)
		eventually(t, "state T", func() bool { s := statField(t, pid, 0); return s == "T" || s == "t" })
		if err := wire.Write(f.client, 0, &wire.GhostCont{PID: pid}); err != nil {
			t.Fatal(err)
		}
		if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
			t.Fatalf("continue: status %#x", st)
		}
		// A SIGCONT of another process is reported, once.
		f.stop(t, pid, sig)
		if err := unix.Kill(int(pid), unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
			t.Fatalf("continue: status %#x", st)
		}
		if got, _ := f.signal(t, pid); got != unix.SIGCONT {
			t.Fatalf("got %v", got)
		}
	}
	// The keeper's own signals are not reported.
	if err := queueSignal(pid, unix.SIGUSR1, 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.signal(t, pid); got != unix.SIGUSR1 {
		t.Errorf("got %v", got)
	}
	f.stop(t, pid, unix.SIGSTOP)
	if st := f.end(t, pid, wire.ExitStatus(9)); st.ExitStatus() != 9 {
		t.Errorf("end of a stopped ghost: %#x", st)
	}
	pid = f.ghost(t, nobody, "g")
	f.stop(t, pid, unix.SIGSTOP)
	if st := f.end(t, pid, wire.SignalStatus(int(unix.SIGTERM))); st.Signal() != unix.SIGTERM {
		t.Errorf("end of a stopped ghost: %#x", st)
	}
}

// Another process's SIGCONT must be reported, whatever moment of a stop it hits. (If it comes while
// the keeper's own SIGCONT is pending, the kernel merges them, and the process goes on already.)
func TestContinueWhileStopping(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	for i := range 500 {
		sig := []unix.Signal{unix.SIGSTOP, unix.SIGTSTP}[i%2]
		if err := wire.Write(f.client, 0, &wire.GhostStop{PID: pid, Signal: uint8(sig)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i%50) * 5 * time.Microsecond) // another moment each time
		if err := unix.Kill(int(pid), unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if got, _ := f.signal(t, pid); got != unix.SIGCONT {
			t.Fatalf("round %d: got %v", i, got)
		}
		// The process goes on then, and the master tells the keeper.
		if err := wire.Write(f.client, 0, &wire.GhostCont{PID: pid}); err != nil {
			t.Fatal(err)
		}
		f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"g"}}) // all requests before it are done
		eventually(t, "the ghost goes on", func() bool {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			return statField(t, pid, 0) == "S" && strings.Contains(string(text), "ShdPnd:\t0000000000000000")
		})
	}
	f.end(t, pid, 0)
}

// A stop and another request may meet at any moment: the ghost is stopped after both.
func TestStopWhileDriven(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	for i := range 200 {
		sig := []unix.Signal{unix.SIGSTOP, unix.SIGTSTP}[i%2]
		if err := wire.Write(f.client, 0, &wire.GhostStop{PID: pid, Signal: uint8(sig)}); err != nil {
			t.Fatal(err)
		}
		f.must(t, &wire.GhostTrait{PID: pid, Option: unix.PR_SET_CHILD_SUBREAPER, Value: uint32(i % 2)})
		eventually(t, fmt.Sprintf("the ghost is stopped, round %d", i), func() bool {
			return statField(t, pid, 0) == "t"
		})
		if err := wire.Write(f.client, 0, &wire.GhostCont{PID: pid}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the ghost goes on", func() bool { return statField(t, pid, 0) == "S" })
	}
	f.end(t, pid, 0)
}

// A ghost that is stopped right after its program has begun has the program's name.
func TestStopAfterExec(t *testing.T) {
	f := newFixture(t)
	pid := f.ghost(t, nobody, "g")
	for i := range 200 {
		comm := fmt.Sprint("program-", i)
		exec := &wire.GhostExec{PID: pid, Argv: []string{comm}}
		if err := wire.Write(f.client, 0, exec); err != nil {
			t.Fatal(err)
		}
		f.stop(t, pid, unix.SIGTSTP)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if got := strings.TrimSpace(string(text)); got != comm {
			t.Fatalf("stopped with the name %q, %v, want %q", got, err, comm)
		}
		if err := wire.Write(f.client, 0, &wire.GhostCont{PID: pid}); err != nil {
			t.Fatal(err)
		}
		if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
			t.Fatalf("continue: status %#x", st)
		}
	}
	f.end(t, pid, 0)
}
