package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/cluster"
)

// siQueue is the code in the siginfo_t of every forwarded signal, even of one sent by kill(2): the
// kernel allows no process to send SI_USER in the name of another (rt_sigqueueinfo(2)), and the
// sender's UID is more important.
const siQueue = -1

// lastSignal is SIGRTMAX.
const lastSignal = 64

// TestSignals sends every signal to a ghost, by kill and by sigqueue.
func TestSignals(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	r := startRemote(t, c, cluster.Alice, 0, cluster.Program(t, siglog))
	for sig := unix.Signal(1); sig <= lastSignal; sig++ {
		if sig == unix.SIGKILL || sig == unix.SIGSTOP {
			continue // cannot be caught: they have tests of their own
		}
		r.kill(sig)
		if got, want := r.line(), fmt.Sprintf("%d %d 0 0", sig, siQueue); got != want {
			t.Errorf("kill: got %q, want %q", got, want)
		}
		value := uintptr(0x1122334455667700) + uintptr(sig)
		if err := c.Front.Queue(r.ghost, sig, value); err != nil {
			t.Fatal(err)
		}
		if got, want := r.line(), fmt.Sprintf("%d %d 0 %#x", sig, siQueue, value); got != want {
			t.Errorf("sigqueue: got %q, want %q", got, want)
		}
	}
	r.kill(unix.SIGKILL)
	if code := r.wait(); code != 128+int(unix.SIGKILL) {
		t.Errorf("exit code %d, want 137", code)
	}
	r.gone()
}

// TestSignalFromUser has an ordinary user signal a process of that user, and fail to signal another
// user's.
func TestSignalFromUser(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	r := startRemote(t, c, cluster.Alice, 3, cluster.Program(t, siglog))
	kill := func(user cluster.User) int {
		res, err := c.Front.Exec(t.Context(), user, "kill", "-USR1", fmt.Sprint(r.ghost))
		if err != nil {
			t.Fatal(err)
		}
		return res.Code
	}
	if code := kill(cluster.Bob); code == 0 {
		t.Error("bob could signal alice's process")
	}
	if code := kill(cluster.Alice); code != 0 {
		t.Errorf("kill by its owner: exit code %d", code)
	}
	if got, want := r.line(), fmt.Sprintf("%d %d %d ", unix.SIGUSR1, siQueue, cluster.Alice.UID); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q...", got, want)
	}
	r.kill(unix.SIGKILL)
	r.wait()
}

// TestDeadlySignals has a process die of each signal with that default action: its parent on the
// front end gets the status.
func TestDeadlySignals(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	harmless := []unix.Signal{ // signal(7): ignored, or a stop
		unix.SIGCHLD, unix.SIGCONT, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGURG, unix.SIGWINCH,
	}
	for sig := unix.Signal(1); sig <= lastSignal; sig++ {
		if slices.Contains(harmless, sig) {
			continue
		}
		// The tests may have been started with a signal ignored, which is inherited on both sides.
		native, err := c.Front.Exec(t.Context(), cluster.Alice, cluster.Program(t, die), fmt.Sprint(int(sig)))
		if err != nil {
			t.Fatal(err)
		}
		res := bpsh(t, c, cluster.Alice, "1", cluster.Program(t, die), fmt.Sprint(int(sig)))
		if res.Code != native.Code {
			t.Errorf("killed by %d: got %+v, want code %d", sig, res, native.Code)
		}
	}
}

// TestStopAndContinue stops and continues a process through its ghost.
func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			c := cluster.Shared(t, 4)
			wantIdle(t, c)
			r := startJob(t, c, cluster.Root, 1, "sh", "-c", "echo ready; exec sleep 1000")
			for round := range 3 {
				r.kill(sig)
				cluster.Eventually(t, fmt.Sprintf("round %d: both are stopped", round), func() error {
					if process, ghost := r.state(); !stopped(process) || !stopped(ghost) {
						return fmt.Errorf("the process is %q, its ghost %q", process, ghost)
					}
					return nil
				})
				r.kill(unix.SIGCONT)
				cluster.Eventually(t, fmt.Sprintf("round %d: both run again", round), func() error {
					if process, ghost := r.state(); process != "S" || ghost != "S" {
						return fmt.Errorf("the process is %q, its ghost %q", process, ghost)
					}
					return nil
				})
			}
			r.kill(sig)
			r.kill(unix.SIGKILL) // ends a stopped process, too
			if code := r.wait(); code != 137 {
				t.Errorf("exit code %d, want 137", code)
			}
			r.gone()
		})
	}
}

// TestSignalToCommand checks that the warning signals of batch systems go through bpsh itself. bpsh
// does not catch signals in its first milliseconds.
func TestSignalToCommand(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t, 4)
	wantIdle(t, c)
	r := startRemote(t, c, cluster.Alice, 1, cluster.Program(t, siglog))
	bpsh, err := r.bpsh.PID()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGUSR2} {
		for heard := false; !heard; {
			if err := c.Front.Kill(bpsh, sig); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-r.lines:
				heard = strings.HasPrefix(got, fmt.Sprintf("%d ", sig))
			case <-time.After(50 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatalf("signal %d does not come", sig)
			}
		}
	}
	r.kill(unix.SIGKILL)
	r.wait()
	r.gone()
}
