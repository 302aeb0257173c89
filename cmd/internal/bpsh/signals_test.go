package bpsh_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

// command returns bpsh as a process in its own process group.
func command(t *testing.T, m *fakemaster.Master, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), asCommand+"="+m.Client.GhostPath, "BPROC_SOCKET="+m.Client.Socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	return cmd
}

func TestSignals(t *testing.T) {
	tests := []struct {
		name   string
		signal syscall.Signal
		status wire.Status // the fake master's status for the end of the ghost; 0: the signal ends it
		want   syscall.WaitStatus
	}{
		{"SIGTERM is passed on", syscall.SIGTERM, 0, 143 << 8},
		{"SIGHUP is passed on", syscall.SIGHUP, 0, 129 << 8},
		{"SIGINT that the command dies of", syscall.SIGINT, wire.SignalStatus(2), 2},
		{"SIGINT that the command handles", syscall.SIGINT, wire.ExitStatus(4), 4 << 8},
		{"SIGQUIT that the command handles", syscall.SIGQUIT, wire.ExitStatus(5), 5 << 8},
		{"SIGINT that only the command got", 0, wire.SignalStatus(2), 130 << 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			signalled := make(chan struct{})
			m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
				c.Started()
				_ = c.Output(out, "ready\n")
				<-signalled
				c.EndOutputs()
				if tt.status != 0 {
					c.EndProcess(tt.status)
				}
				c.Gone()
			}))
			cmd := command(t, m, "-n", "3", "cmd")
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
				t.Errorf("got %q, %v", line, err)
			}
			if err := unix.Kill(cmd.Process.Pid, tt.signal); err != nil {
				t.Error(err)
			}
			for pending(t, cmd.Process.Pid) {
				runtime.Gosched()
			}
			close(signalled)
			_ = cmd.Wait()
			if got := cmd.ProcessState.Sys().(syscall.WaitStatus); got != tt.want {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
}

// pending reports whether a process has signals that are not delivered yet (proc(5)).
func pending(t *testing.T, pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(status), "\nShdPnd:\t0000000000000000\n")
}

// TestSignalWhenLost has a master that ends, and a ghost that does not.
func TestSignalWhenLost(t *testing.T) {
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
	}))
	cmd := command(t, m, "-n", "3", "cmd")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if want := "bpsh: node 3 is down\n"; line != want {
		t.Errorf("got %q, %v, want %q", line, err, want)
	}
	// The message appears a moment before bpsh gives up.
	for unix.Kill(cmd.Process.Pid, unix.SIGINT) == nil && !ended(t, cmd.Process.Pid) {
		runtime.Gosched()
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus); got != 2 {
		t.Errorf("got %#x, want 2", got)
	}
}

// ended reports whether a child is a zombie (waitid(2)).
func ended(t *testing.T, pid int) bool {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return info.Signo != 0
}

// TestSignalWithTerminal has a command that has closed its terminal, and goes on when that hangs up.
func TestSignalWithTerminal(t *testing.T) {
	ended := make(chan struct{})
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		c.Started()
		_ = c.Output(out, "ready\n")
		c.EndOutputs()
		c.Gone()
		select {
		case <-ended:
		case <-time.After(limit.Scaled(5 * time.Second)):
		}
		c.EndProcess(wire.ExitStatus(6))
	}))
	cmd := command(t, m, "-T", "3", "cmd")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	close(ended)
	if got := cmd.ProcessState.ExitCode(); got != 143 {
		t.Errorf("got %d, want 143", got)
	}
}

// TestSignalSoon sends a signal before bpsh catches signals.
func TestSignalSoon(t *testing.T) {
	asked := make(chan struct{})
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, _ *wire.Run) {
		close(asked)
		c.Gone()
	}))
	cmd := command(t, m, "3", "cmd")
	cmd.Env = append(cmd.Env, catchLate+"=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := unix.Kill(cmd.Process.Pid, unix.SIGQUIT); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGQUIT || stderr.String() != "" {
		t.Errorf("got %#x and %q, want death by SIGQUIT", status, stderr.String())
	}
}

// TestSignalWhileStarting has a master that never answers.
func TestSignalWhileStarting(t *testing.T) {
	asked := make(chan wire.PID, 1)
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		asked <- r.Ghost
		c.Gone()
	}))
	cmd := command(t, m, "3", "cmd")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ghost := <-asked
	if err := unix.Kill(cmd.Process.Pid, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 143 {
		t.Errorf("got %d, want 143", got)
	}
	if err := unix.Kill(int(ghost), 0); err == nil {
		t.Error("the ghost is still there")
	}
}

// TestIgnoredHangUp starts bpsh with SIGHUP ignored, like nohup(1).
func TestIgnoredHangUp(t *testing.T) {
	runs := make(chan *wire.Run, 1)
	signalled := make(chan struct{})
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		runs <- r
		c.Started()
		<-signalled
		c.End(wire.ExitStatus(6))
	}))
	cmd := command(t, m)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, selfPath(t), "3", "cmd"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run := <-runs
	if run.Command.Ignored&(1<<(unix.SIGHUP-1)) == 0 {
		t.Errorf("ignored: %#x", run.Command.Ignored)
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGHUP); err != nil {
		t.Error(err)
	}
	close(signalled)
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 6 {
		t.Errorf("got %d, want 6", got)
	}
}

func selfPath(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDescriptorsAreNotInherited gives bpsh a descriptor that the ghost must not inherit.
func TestDescriptorsAreNotInherited(t *testing.T) {
	links := make(chan []string, 1)
	m := fakemaster.Start(t, onRun(func(c *fakemaster.Conn, r *wire.Run) {
		links <- descriptors(t, int(r.Ghost))
		c.Started()
		c.End(0)
	}))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, m, "3", "cmd")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := <-links; slices.Contains(got, pipe) {
		t.Errorf("the ghost has %s among %v", pipe, got)
	}
}

// descriptors returns the targets of a process's descriptors.
func descriptors(t *testing.T, pid int) []string {
	var links []string
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, fd := range list {
		if link, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil {
			links = append(links, link)
		}
	}
	return links
}
