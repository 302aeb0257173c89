package bproc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc"
	"bproc/internal/fakemaster"
	"bproc/wire"
)

// start starts a fake master and returns a client for it.
func start(t *testing.T, handle fakemaster.Handler) *bproc.Client {
	t.Helper()
	c := bproc.Client(fakemaster.Start(t, handle).Client)
	return &c
}

// says answers every Run with a process that writes to both outputs and ends.
func says(stdout, stderr string, status wire.Status) fakemaster.Handler {
	return func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); !first {
			c.Resumed(0) // its node is there
			return
		}
		c.Started()
		for _, out := range []struct {
			t    wire.Type
			text string
		}{{wire.TypeStdout, stdout}, {wire.TypeStderr, stderr}} {
			if out.text != "" {
				if err := c.Output(out.t, out.text); err != nil {
					return // the client does not want it
				}
			}
		}
		c.End(status)
	}
}

func TestExitError(t *testing.T) {
	tests := []struct {
		name   string
		status wire.Status
		want   string
		code   int
	}{
		{"zero", wire.ExitStatus(0), "", 0},
		{"code", wire.ExitStatus(7), "exit status 7", 7},
		{"largest code", wire.ExitStatus(255), "exit status 255", 255},
		{"killed", wire.SignalStatus(9), "killed by signal 9 (SIGKILL)", -1},
		{"real-time signal", wire.SignalStatus(40), "killed by signal 40", -1},
		{"terminated", wire.SignalStatus(15), "killed by signal 15 (SIGTERM)", -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := start(t, says("", "", tt.status)).Command(2, "prog")
			got, code := "", 0
			if err := cmd.Run(t.Context()); err != nil {
				got = err.Error()
				var exit *bproc.ExitError
				if !errors.As(err, &exit) {
					t.Fatalf("error is %T", err)
				}
				code = exit.ExitCode()
			}
			if got != tt.want || code != tt.code || uint32(cmd.Status) != uint32(tt.status) {
				t.Errorf("got %q, code %d, status %#x; want %q, %d, %#x", got, code, cmd.Status, tt.want, tt.code, tt.status)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	cluster := start(t, says("good\n", "bad\n", wire.ExitStatus(3)))
	out, err := cluster.Command(2, "prog").Output(t.Context())
	var exit *bproc.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || string(exit.Stderr) != "bad\n" || string(out) != "good\n" {
		t.Errorf("got %q, %#v", out, err)
	}
	if out, err = cluster.Command(2, "prog").CombinedOutput(t.Context()); string(out) != "good\nbad\n" || !errors.As(err, &exit) {
		t.Errorf("got %q, %v", out, err)
	}
	cmd := cluster.Command(2, "prog")
	cmd.Stdout = io.Discard
	if _, err := cmd.Output(t.Context()); err == nil {
		t.Error("Output has taken the place of Stdout")
	}
}

// TestEndOfStderr has a command that writes more to standard error than an error keeps.
func TestEndOfStderr(t *testing.T) {
	cmd := new(bproc.Client).Command(bproc.FrontEnd, "sh", "-c", "yes error | head -c 1000000 >&2; echo last >&2; exit 1")
	_, err := cmd.Output(t.Context())
	var exit *bproc.ExitError
	if !errors.As(err, &exit) || !strings.HasSuffix(string(exit.Stderr), "last\n") || len(exit.Stderr) < 32<<10 || len(exit.Stderr) > 64<<10 {
		t.Errorf("got %v", err)
	}
}

// killed answers every Run with a process that runs until its ghost is killed.
func killed(c *fakemaster.Conn, m wire.Message) {
	if _, first := m.(*wire.Run); first {
		c.Started()
		_ = c.Output(wire.TypeStdout, "up")
		c.EndOutputs()
		c.Gone()
	} else {
		c.Resumed(0)
	}
}

// started is called when a process has written something.
type started func()

func (s started) Write(b []byte) (int, error) {
	s()
	return len(b), nil
}

// TestContext ends a context while a process runs.
func TestContext(t *testing.T) {
	cluster := start(t, killed)
	reason := errors.New("enough")
	for _, tt := range []struct {
		name string
		node bproc.NodeID
		run  func(context.Context, *bproc.Cmd) error
	}{
		{"Start on a node", 2, func(ctx context.Context, c *bproc.Cmd) error { return errors.Join(c.Start(ctx), c.Wait()) }},
		{"Run on a node", 2, func(ctx context.Context, c *bproc.Cmd) error { return c.Run(ctx) }},
		{"Start on the front end", bproc.FrontEnd, func(ctx context.Context, c *bproc.Cmd) error { return errors.Join(c.Start(ctx), c.Wait()) }},
		{"Run on the front end", bproc.FrontEnd, func(ctx context.Context, c *bproc.Cmd) error { return c.Run(ctx) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cmd := cluster.Command(tt.node, "sh", "-c", "echo up; exec sleep 1000")
			cmd.Stdout = started(func() { cancel(reason) })
			err := tt.run(ctx, cmd)
			var exit *bproc.ExitError
			if !errors.Is(err, reason) || !errors.As(err, &exit) || exit.Status.Signal() != unix.SIGKILL {
				t.Errorf("got %v", err)
			}
			if err := unix.Kill(int(cmd.PID), 0); !errors.Is(err, unix.ESRCH) {
				t.Errorf("the process is still there: %v", err)
			}
		})
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for _, node := range []bproc.NodeID{2, bproc.FrontEnd} {
		if err := cluster.Command(node, "true").Run(cancelled); !errors.Is(err, reason) {
			t.Errorf("node %d: got %v", node, err)
		}
	}
}

// TestPipes talks to a process by all three pipes.
func TestPipes(t *testing.T) {
	cluster := start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		for {
			b, err := c.Input()
			if err != nil {
				break
			}
			_ = c.Output(wire.TypeStdout, string(b))
		}
		_ = c.Output(wire.TypeStderr, "done\n")
		c.End(0)
	})
	for _, node := range []bproc.NodeID{2, bproc.FrontEnd} {
		cmd := cluster.Command(node, "sh", "-c", "cat; echo done >&2")
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		stderr, err3 := cmd.StderrPipe()
		if err := errors.Join(err1, err2, err3, cmd.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(stdout)
		for _, want := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(stdin, want); err != nil {
				t.Error(err)
			}
			if got, err := lines.ReadString('\n'); got != want {
				t.Errorf("node %d: got %q, %v", node, got, err)
			}
		}
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		rest, err := io.ReadAll(lines)
		bad, badErr := io.ReadAll(stderr)
		if err := errors.Join(err, badErr, cmd.Wait()); err != nil || len(rest) > 0 || string(bad) != "done\n" {
			t.Errorf("node %d: got %q, %q, %v", node, rest, bad, err)
		}
		if _, err := stdin.Write([]byte("x")); err == nil {
			t.Errorf("node %d: input after the end", node)
		}
	}
}

// TestOnePipe has both outputs in one pipe.
func TestOnePipe(t *testing.T) {
	cluster := start(t, says("good\n", "bad\n", 0))
	for _, node := range []bproc.NodeID{2, bproc.FrontEnd} {
		cmd := cluster.Command(node, "sh", "-c", "echo good; echo bad >&2")
		stdout, err := cmd.StdoutPipe()
		cmd.Stderr = cmd.Stdout
		if err := errors.Join(err, cmd.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(stdout)
		if err := errors.Join(err, cmd.Wait()); err != nil || string(got) != "good\nbad\n" {
			t.Errorf("node %d: got %q, %v", node, got, err)
		}
	}
}

// TestUnreadPipe kills a process that has written more than a pipe has room for, while the pipe is
// not read.
func TestUnreadPipe(t *testing.T) {
	const much = 300 << 10
	cluster := start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); !first {
			c.Resumed(0)
			return
		}
		c.Started()
		_ = c.Output(wire.TypeStderr, "bad\n")
		for range much / wire.MaxData {
			_ = c.Output(wire.TypeStdout, strings.Repeat("x", wire.MaxData))
		}
		c.EndOutputs()
		c.Gone()
	})
	for _, node := range []bproc.NodeID{2, bproc.FrontEnd} {
		var stderr bytes.Buffer
		cmd := cluster.Command(node, "sh", "-c", "echo bad >&2; exec yes")
		stdout, err := cmd.StdoutPipe()
		cmd.Stderr = &stderr
		if err := errors.Join(err, cmd.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		err = errors.Join(cmd.Signal(os.Kill), cmd.Wait())
		var exit *bproc.ExitError
		if !errors.As(err, &exit) || exit.Status.Signal() != unix.SIGKILL || stderr.String() != "bad\n" {
			t.Errorf("node %d: got %v, %q", node, err, stderr.String())
		}
	}
}

// TestClosedPipe closes a pipe before the process has written everything: its next write
// fails, as on one machine.
func TestClosedPipe(t *testing.T) {
	cluster := start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); !first {
			c.Resumed(0)
			return
		}
		c.Started()
		for c.Output(wire.TypeStdout, strings.Repeat("y\n", wire.MaxData/2)) == nil {
		}
		c.EndProcess(wire.SignalStatus(int(unix.SIGTERM)))
	})
	for node, want := range map[bproc.NodeID]syscall.Signal{2: unix.SIGTERM, bproc.FrontEnd: unix.SIGPIPE} {
		cmd := cluster.Command(node, "yes")
		stdout, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "y\n" {
			t.Errorf("got %q, %v", line, err)
		}
		_ = stdout.Close()
		var exit *bproc.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Status.Signal() != want {
			t.Errorf("node %d: got %v", node, err)
		}
	}
}

// TestPipeOfChild has a process end while its child keeps standard output open and writes nothing.
func TestPipeOfChild(t *testing.T) {
	cluster := start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); !first {
			c.Resumed(0)
			return
		}
		c.Started()
		_ = c.Output(wire.TypeStdout, "up\n")
		c.EndProcess(wire.ExitStatus(0))
		c.Gone()
	})
	cmd := cluster.Command(2, "prog")
	stdout, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "up\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPipeWithoutWait ends the connection to the master after the end of the output, before Wait is
// called. It must be restored, since the process would be hung up otherwise.
func TestPipeWithoutWait(t *testing.T) {
	restored := make(chan struct{})
	cluster := start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); first {
			c.Started()
			c.EndOutputs()
			return
		}
		c.Resumed(0)
		close(restored)
		c.EndProcess(wire.ExitStatus(0))
		c.Gone()
	})
	cmd := cluster.Command(2, "prog")
	cmd.HangUp = true
	stdout, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stdout); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
	select {
	case <-restored:
	case <-time.After(30 * time.Second):
		t.Error("the connection was not restored")
		_ = cmd.Signal(os.Kill)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestFailedStart closes the pipes of a command that does not start.
func TestFailedStart(t *testing.T) {
	cluster := start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Fail(wire.StageExec, uint32(unix.ENOENT), "", 127)
	})
	for _, node := range []bproc.NodeID{2, bproc.FrontEnd} {
		cmd := cluster.Command(node, "/no/such/program")
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		err := cmd.Start(t.Context())
		var e *bproc.Error
		if !errors.As(err, &e) || e.Node != node || e.Stage != bproc.StageExec || e.Errno != syscall.ENOENT || !errors.Is(err, syscall.ENOENT) {
			t.Errorf("node %d: got %v", node, err)
		}
		if _, err := stdin.Write([]byte("x")); err == nil {
			t.Errorf("node %d: standard input is open", node)
		}
		if _, err := stdout.Read(make([]byte, 1)); err == nil {
			t.Errorf("node %d: standard output is open", node)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("node %d: a command was waited for that has not started", node)
		}
	}
}

// TestRunAll runs a command on several nodes. It fails on one of them, and another is down.
func TestRunAll(t *testing.T) {
	cluster := start(t, func(c *fakemaster.Conn, m wire.Message) {
		switch run := m.(*wire.Run); run.Node {
		case 2:
			c.Started()
			c.End(wire.ExitStatus(5))
		case 3:
			c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
		default:
			c.Started()
			_ = c.Output(wire.TypeStdout, run.Node.String())
			c.End(0)
		}
	})
	var outputs [5]bytes.Buffer
	var cmds []*bproc.Cmd
	for node := range outputs {
		cmd := cluster.Command(bproc.NodeID(node), "prog")
		cmd.Stdout = &outputs[node]
		cmds = append(cmds, cmd)
	}
	err := bproc.RunAll(t.Context(), cmds...)
	if err == nil || err.Error() != "node 2: exit status 5\nnode 3 is down" || !errors.Is(err, unix.EHOSTDOWN) {
		t.Errorf("got %v", err)
	}
	for node, want := range []string{"0", "1", "", "", "4"} {
		if got := outputs[node].String(); got != want {
			t.Errorf("node %d: got %q, want %q", node, got, want)
		}
	}
}
