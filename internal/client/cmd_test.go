package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
	"bproc/internal/fakemaster"
	"bproc/test/limit"
	"bproc/wire"
)

// exits answers every Run with a process that ends at once. Its node is there.
func exits(status wire.Status) fakemaster.Handler {
	return func(c *fakemaster.Conn, m wire.Message) {
		if _, ok := m.(*wire.Attach); ok {
			c.Resumed(0)
			return
		}
		c.Started()
		c.End(status)
	}
}

// run runs a command to its end.
func run(ctx context.Context, cmd *client.Cmd) (client.Status, error) {
	if err := cmd.Start(ctx); err != nil {
		return 0, err
	}
	return cmd.Wait()
}

func TestStatus(t *testing.T) {
	for _, want := range []wire.Status{
		wire.ExitStatus(0), wire.ExitStatus(7), wire.ExitStatus(255), wire.SignalStatus(9), wire.SignalStatus(15),
	} {
		t.Run(fmt.Sprintf("%#x", uint32(want)), func(t *testing.T) {
			m := fakemaster.Start(t, exits(want))
			cmd := m.Client.Command(2, "prog")
			if got, err := run(t.Context(), cmd); got != want || err != nil {
				t.Errorf("got %#x, %v", got, err)
			}
			if err := unix.Kill(int(cmd.PID), 0); !errors.Is(err, unix.ESRCH) {
				t.Errorf("the ghost is still there: %v", err)
			}
		})
	}
}

func TestWhatIsCarried(t *testing.T) {
	runs := make(chan *wire.Run, 1)
	m := fakemaster.Start(t, func(c *fakemaster.Conn, r wire.Message) {
		runs <- r.(*wire.Run)
		c.Started()
		c.End(0)
	})
	t.Chdir("/")
	cmd := m.Client.Command(4, "prog", "a b", "")
	cmd.Env = []string{"A=1", "B="}
	cmd.HangUp = true
	cmd.Stdout = io.Discard
	cmd.StderrFile = "/tmp/errors"
	if status, err := run(t.Context(), cmd); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	run := <-runs
	got := run.Command
	if run.Node != 4 || run.Ghost != cmd.PID || !run.HangUp || run.Version != wire.Version {
		t.Errorf("got %+v", run)
	}
	if !slices.Equal(got.Argv, []string{"prog", "a b", ""}) || !slices.Equal(got.Env, cmd.Env) {
		t.Errorf("got argv %q, env %q", got.Argv, got.Env)
	}
	if got.Dir != "/" || got.Umask != 0 || got.Nice != 0 || got.Limits != nil {
		t.Errorf("got dir %s, umask %o, nice %d, limits %v; want /, and the rest is the ghost's to say", got.Dir, got.Umask, got.Nice, got.Limits)
	}
	want := [3]wire.Descriptor{{}, {Mode: wire.DescriptorStream}, {Mode: wire.DescriptorFile, Path: "/tmp/errors"}}
	if got.Stdio != want {
		t.Errorf("got %v, want %v", got.Stdio, want)
	}
}

// TestDirectory asks for a directory that the node must have, or not.
func TestDirectory(t *testing.T) {
	runs := make(chan *wire.Run, 1)
	m := fakemaster.Start(t, func(c *fakemaster.Conn, r wire.Message) {
		runs <- r.(*wire.Run)
		c.Started()
		c.End(0)
	})
	for _, optional := range []bool{false, true} {
		cmd := m.Client.Command(4, "prog")
		cmd.Dir, cmd.DirOptional = "/some/dir", optional
		if status, err := run(t.Context(), cmd); err != nil || status != 0 {
			t.Fatal(status, err)
		}
		if got := (<-runs).Command; got.Dir != "/some/dir" || got.OnlyDir == optional {
			t.Errorf("optional %v: got directory %s, and only that: %v", optional, got.Dir, got.OnlyDir)
		}
	}
}

// TestTooLong has a command that is longer than a message may be. The master, which waits
// for a request, must not be waited for.
func TestTooLong(t *testing.T) {
	m := fakemaster.Start(t, func(*fakemaster.Conn, wire.Message) { t.Error("the master was asked") })
	cmd := m.Client.Command(4, "prog")
	cmd.Env = []string{"A=" + strings.Repeat("x", wire.MaxCommand)}
	ctx, cancel := context.WithTimeout(t.Context(), limit.Scaled(20*time.Second))
	defer cancel()
	_, err := run(ctx, cmd)
	if !errors.Is(err, unix.E2BIG) || err.Error() != "node 4: argument list too long" {
		t.Errorf("got %v, want %v", err, unix.E2BIG)
	}
}

func TestGhost(t *testing.T) {
	release := make(chan struct{})
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		<-release
		c.End(0)
	})
	cmd := m.Client.Command(1, "name of it", "first", "second")
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("/proc", cmd.PID.String())
	const want = "name of it\x00first\x00second\x00"
	deadline := time.Now().Add(limit.Scaled(20 * time.Second))
	for { // it may still be executing its image
		argv, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			t.Fatal(err)
		}
		if string(argv) == want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("command line: got %q, want %q", argv, want)
		}
		time.Sleep(time.Millisecond)
	}
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil || len(env) != 0 {
		t.Errorf("environment: got %q, %v", env, err)
	}
	if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err != nil || cwd != "/" {
		t.Errorf("directory: got %q, %v", cwd, err)
	}
	pgid, err := unix.Getpgid(int(cmd.PID))
	if err != nil || pgid != unix.Getpgrp() {
		t.Errorf("group: got %d, %v, want %d", pgid, err, unix.Getpgrp())
	}
	close(release)
	if status, err := cmd.Wait(); err != nil || status != 0 {
		t.Error(status, err)
	}
	if err := cmd.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal afterwards: got %v", err)
	}
}

func TestSignal(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Started()
		c.Gone()
	})
	cmd := m.Client.Command(1, "prog")
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status, err := cmd.Wait(); status != wire.SignalStatus(9) || err != nil {
		t.Errorf("got %#x, %v", status, err)
	}
}

// TestStartCancelled has a master that takes the request and says nothing.
func TestStartCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ghost := make(chan wire.PID, 1)
	m := fakemaster.Start(t, func(c *fakemaster.Conn, r wire.Message) {
		ghost <- r.(*wire.Run).Ghost
		c.Gone()
	})
	cmd := m.Client.Command(1, "prog")
	if err := cmd.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := unix.Kill(int(<-ghost), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the ghost is still there: %v", err)
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name  string
		stage wire.Stage
		errno unix.Errno
		text  string
		want  string
	}{
		{"no such node", wire.StageNode, unix.ENXIO, "", "node 3: no such node"},
		{"down", wire.StageNode, unix.EHOSTDOWN, "", "node 3 is down"},
		{"not ours", wire.StageNode, unix.EACCES, "", "node 3: permission denied"},
		{"not found", wire.StageExec, unix.ENOENT, "", "node 3: foo: command not found"},
		{"not executable", wire.StageExec, unix.EACCES, "", "node 3: foo: permission denied"},
		{"no process", wire.StageSpawn, unix.EAGAIN, "", "node 3: the process could not be made: resource temporarily unavailable"},
		{"file", wire.StageFile, unix.ENOENT, "", "node 3: /no/file: no such file or directory"},
		{"directory", wire.StageDir, unix.ENOENT, "", "node 3: working directory /no/dir: no such file or directory"},
		{"text", wire.StageRequest, unix.EINVAL, "64 is too many", "node 3: 64 is too many"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ghost := make(chan wire.PID, 1)
			m := fakemaster.Start(t, func(c *fakemaster.Conn, r wire.Message) {
				ghost <- r.(*wire.Run).Ghost
				c.Fail(tt.stage, uint32(tt.errno), tt.text, 127)
			})
			cmd := m.Client.Command(3, "foo")
			cmd.StdinFile, cmd.Dir = "/no/file", "/no/dir"
			err := cmd.Start(t.Context())
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if !errors.Is(err, tt.errno) {
				t.Errorf("%v is not %v", err, tt.errno)
			}
			if err := unix.Kill(int(<-ghost), 0); !errors.Is(err, unix.ESRCH) {
				t.Errorf("the ghost is still there: %v", err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
		c.Send(&wire.Refused{Reason: "too old"})
	})
	err := m.Client.Command(3, "foo").Start(t.Context())
	if err == nil || err.Error() != "node 3: the master refused: too old" {
		t.Errorf("got %v", err)
	}
}

func TestNoMaster(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "no.sock")
	c := client.Client{Socket: socket}
	err := c.Command(3, "foo").Start(t.Context())
	want := "no master is running here (" + socket + ": no such file or directory): on the front end 'systemctl start bpmaster' or bpmaster itself starts it, and 'bpctl check' says what is wrong"
	if !errors.Is(err, client.ErrNoMaster) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestKilledWithNode has a process killed whose node goes down. What it has written has
// come, or it had nowhere to write to. The node may be back, and the report of the end comes over the
// first connection or, when that has broken, over another.
func TestKilledWithNode(t *testing.T) {
	for i := range 8 {
		output, back, report := i&1 != 0, i&2 != 0, i&4 != 0
		t.Run(fmt.Sprintf("output %v, back %v, report %v", output, back, report), func(t *testing.T) {
			m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
				attach, again := m.(*wire.Attach)
				switch {
				case !again:
					c.Started()
					c.EndOutputs()
					if report {
						c.Send(&wire.Ended{Status: wire.SignalStatus(int(unix.SIGKILL)), WithNode: true})
						defer c.Gone()
					}
					c.EndGhost(wire.SignalStatus(int(unix.SIGKILL)))
				case back:
					c.Resumed(0)
					if attach.Report {
						c.Send(&wire.Ended{Status: wire.SignalStatus(int(unix.SIGKILL)), WithNode: true})
					}
					c.Gone()
				default:
					c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
				}
			})
			cmd := m.Client.Command(3, "foo")
			if output {
				cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
			}
			want := "node 3 is down"
			if back {
				want = "node 3: all its processes were ended"
			}
			_, err := run(t.Context(), cmd)
			if !errors.Is(err, client.ErrLost) || !errors.Is(err, unix.EHOSTDOWN) || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestKilledAlone has a process killed whose node does not go down. The connection that is there says so:
// the client needs no other.
func TestKilledAlone(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); !first {
			t.Errorf("the client asks once more: %T", m)
			return
		}
		c.Started()
		c.End(wire.SignalStatus(int(unix.SIGKILL)))
	})
	if status, err := run(t.Context(), m.Client.Command(3, "foo")); status != wire.SignalStatus(int(unix.SIGKILL)) || err != nil {
		t.Errorf("got %#x, %v", status, err)
	}
}

// TestConnectionComesBack has the master go while a process is waited for that has no
// output. That it comes back says that its client is not gone.
func TestConnectionComesBack(t *testing.T) {
	m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
		if _, first := m.(*wire.Run); first {
			c.Started()
			return
		}
		c.Resumed(0)
		c.EndProcess(wire.ExitStatus(4))
		c.Gone()
	})
	cmd := m.Client.Command(3, "foo")
	if status, err := run(t.Context(), cmd); status != wire.ExitStatus(4) || err != nil {
		t.Errorf("got %#x, %v", status, err)
	}
}

// TestMasterGoes has the master go, and the next one not know the process.
func TestMasterGoes(t *testing.T) {
	for _, started := range []bool{false, true} {
		t.Run(fmt.Sprintf("started %v", started), func(t *testing.T) {
			var out bytes.Buffer
			m := fakemaster.Start(t, func(c *fakemaster.Conn, m wire.Message) {
				run, first := m.(*wire.Run)
				switch {
				case !first || run.Again:
					c.Fail(wire.StageNode, uint32(unix.EHOSTDOWN), "", 0)
				case started:
					c.Started()
					_ = c.Output(wire.TypeStdout, "begin")
				}
			})
			cmd := m.Client.Command(3, "foo")
			cmd.Stdout = &out
			err := cmd.Start(t.Context())
			if started {
				if err != nil {
					t.Fatal(err)
				}
				err = cmd.WaitOutput()
				_ = cmd.Signal(syscall.SIGKILL)
				if _, waitErr := cmd.Wait(); !errors.Is(waitErr, client.ErrLost) || out.String() != "begin" {
					t.Errorf("got %v, %q, want %v", waitErr, out.String(), client.ErrLost)
				}
			}
			if !errors.Is(err, unix.EHOSTDOWN) || errors.Is(err, client.ErrLost) != started {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestLastMasterGoes has the master go and remove its socket: no other is waited for.
func TestLastMasterGoes(t *testing.T) {
	for _, started := range []bool{false, true} {
		t.Run(fmt.Sprintf("started %v", started), func(t *testing.T) {
			var m *fakemaster.Master
			m = fakemaster.Start(t, func(c *fakemaster.Conn, _ wire.Message) {
				if started {
					c.Started()
				}
				if err := os.Remove(m.Client.Socket); err != nil {
					t.Error(err)
				}
			})
			cmd := m.Client.Command(3, "foo")
			cmd.Stdout = new(bytes.Buffer)
			err := cmd.Start(t.Context())
			if started && err == nil {
				err = cmd.WaitOutput()
				_ = cmd.Signal(syscall.SIGKILL)
				_, _ = cmd.Wait() // with the same error
			}
			if want := map[bool]error{false: client.ErrNoMaster, true: client.ErrLost}[started]; !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}
