package defaultaction_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/defaultaction"
)

// taker makes the test program take the default action of each signal that it catches.
const taker = "DEFAULTACTION_TEST_TAKER"

func TestMain(m *testing.M) {
	if os.Getenv(taker) == "" {
		m.Run()
		return
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // none for SIGQUIT
	restore := defaultaction.Set(unix.SIGQUIT)
	incoming := make(chan os.Signal, 1)
	signal.Notify(incoming, unix.SIGTSTP, unix.SIGQUIT, unix.SIGTERM, unix.SIGINT)
	restore()
	fmt.Println("ready")
	for sig := range incoming {
		defaultaction.Take(sig.(unix.Signal))
		fmt.Println("back")
	}
}

// TestTake has two stops, since the first must not change what the process does at the next
// signal, and then an end.
func TestTake(t *testing.T) {
	for _, end := range []unix.Signal{unix.SIGQUIT, unix.SIGTERM, unix.SIGINT} {
		t.Run(unix.SignalName(end), func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), taker+"=1")
			// Not in an orphaned process group, where SIGTSTP has no effect.
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stdout)
			wantLine(t, lines, "ready\n")
			for range 2 {
				stop(t, cmd.Process.Pid)
				if err := unix.Kill(cmd.Process.Pid, unix.SIGCONT); err != nil {
					t.Fatal(err)
				}
				wantLine(t, lines, "back\n")
			}
			_ = unix.Kill(cmd.Process.Pid, end)
			_ = cmd.Wait()
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != end || stderr.String() != "" {
				t.Errorf("got %#x and %q, want death by %v", status, stderr.String(), end)
			}
		})
	}
}

func wantLine(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	if got, err := lines.ReadString('\n'); got != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// stop sends SIGTSTP to a child and waits until it has stopped of it.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	if !status.Stopped() || status.StopSignal() != unix.SIGTSTP {
		t.Fatalf("got %#x, want a stop by SIGTSTP", status)
	}
}
