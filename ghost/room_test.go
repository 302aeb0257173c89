package ghost

import (
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// TestNoRoomForSignals uses a ghost of which the kernel keeps only the numbers of pending signals,
// as of a user whose limit is reached (RLIMIT_SIGPENDING).
func TestNoRoomForSignals(t *testing.T) {
	f := newFixture(t)
	full := func() wire.PID {
		pid := f.ghost(t, 0, "g")
		if err := unix.Prlimit(int(pid), unix.RLIMIT_SIGPENDING, &unix.Rlimit{}, nil); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	pid := full()
	f.must(t, &wire.GhostExec{PID: pid, Argv: []string{"h"}})
	f.must(t, &wire.GhostUser{PID: pid, User: same(0), Group: same(0)})
	f.must(t, &wire.GhostJoin{PID: pid, PGID: pid})
	f.must(t, &wire.GhostCall{PID: pid, Op: wire.CallKill, Args: []int64{int64(pid), 0}})
	const child wire.PID = 2800000
	f.must(t, &wire.GhostFork{Parent: pid, Child: child})
	f.must(t, &wire.GhostExec{PID: child, Argv: []string{"i"}})
	f.quiet(t)
	// It stops and continues, and gets no signal that was not sent.
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGTSTP} {
		f.stop(t, pid, sig)
		f.tell(t, &wire.GhostCont{PID: pid})
		if st := wait(t, pid, unix.WCONTINUED); !st.Continued() {
			t.Fatalf("continue: status %#x", st)
		}
		eventually(t, "it has got that", func() bool { return pendingOf(t, pid) == 0 })
		f.must(t, &wire.GhostSync{PID: pid})
		f.quiet(t)
	}
	if err := unix.Kill(int(pid), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if sig, _ := f.signal(t, pid); sig != unix.SIGCONT {
		t.Errorf("got %v", sig)
	}
	f.must(t, &wire.GhostExit{PID: child, Status: wire.SignalStatus(int(unix.SIGTERM))})
	f.gone(t, child)
	f.end(t, pid, 0)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGSEGV, unix.SIGUSR1, 40, 64, unix.SIGKILL} {
		if st := f.end(t, full(), wire.SignalStatus(int(sig))); st.Signal() != sig {
			t.Errorf("end by signal %d: status %#x", sig, st)
		}
	}
}
