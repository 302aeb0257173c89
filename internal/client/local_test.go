package client_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/client"
)

// watched is a writer that tells of its first write.
type watched struct {
	text  bytes.Buffer
	wrote chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	if w.text.Len() == 0 {
		defer close(w.wrote)
	}
	return w.text.Write(p)
}

// TestLeaveLocal leaves a command on the front end that has ended, while a process that it has
// started has its output open.
func TestLeaveLocal(t *testing.T) {
	out := &watched{wrote: make(chan struct{})}
	cmd := new(client.Client).Command(client.FrontEnd, "sh", "-c", "sleep 1000 & echo $!; exit 3")
	cmd.Stdout = out
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-out.wrote
	cmd.Leave()
	status, err := cmd.Wait()
	if code, ok := status.Exited(); !ok || code != 3 || err != nil {
		t.Errorf("got %#x, %v", status, err)
	}
	sleep, err := strconv.Atoi(strings.TrimSpace(out.text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(sleep, unix.SIGKILL); err != nil {
		t.Errorf("the process that was left: %v", err)
	}
}

// TestLocalOutputFile has both outputs of a command on the front end go to one file.
func TestLocalOutputFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "both")
	cmd := new(client.Client).Command(client.FrontEnd, "sh", "-c", "for i in 1 2; do echo out$i; echo err$i-longer >&2; done")
	cmd.StdoutFile, cmd.StderrFile = path, path
	if err := cmd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, err := cmd.Wait(); status != 0 || err != nil {
		t.Errorf("got %#x, %v", status, err)
	}
	got, err := os.ReadFile(path)
	if want := "out1\nerr1-longer\nout2\nerr2-longer\n"; string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestLocalOutputs has both outputs of a command on the front end go to the same writer, and then
// each to another.
func TestLocalOutputs(t *testing.T) {
	var out, bad bytes.Buffer
	for _, stderr := range []*bytes.Buffer{&out, &bad} {
		out.Reset()
		cmd := new(client.Client).Command(client.FrontEnd, "sh", "-c", "for i in 1 2 3; do echo out$i; echo bad$i >&2; done")
		cmd.Stdout, cmd.Stderr = &out, stderr
		if status, err := run(t.Context(), cmd); status != 0 || err != nil {
			t.Errorf("got %#x, %v", status, err)
		}
		want := [2]string{"out1\nbad1\nout2\nbad2\nout3\nbad3\n", ""}
		if stderr == &bad {
			want = [2]string{"out1\nout2\nout3\n", "bad1\nbad2\nbad3\n"}
		}
		if got := [2]string{out.String(), bad.String()}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLocalDirectory has no directory to work in.
func TestLocalDirectory(t *testing.T) {
	cmd := new(client.Client).Command(client.FrontEnd, "true")
	cmd.Dir = "/does/not/exist"
	err := cmd.Start(t.Context())
	if want := "working directory /does/not/exist: no such file or directory"; err == nil || err.Error() != want || !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestLocalDirectoryOptional has a directory that is not there, or is none.
func TestLocalDirectoryOptional(t *testing.T) {
	dir := t.TempDir()
	for wanted, want := range map[string]string{dir: dir, "/does/not/exist": "/", "/etc/passwd": "/"} {
		var out bytes.Buffer
		cmd := new(client.Client).Command(client.FrontEnd, "pwd", "-P")
		cmd.Dir, cmd.DirOptional, cmd.Stdout = wanted, true, &out
		if status, err := run(t.Context(), cmd); status != 0 || err != nil || out.String() != want+"\n" {
			t.Errorf("%s: got %#x, %v, %q, want %s", wanted, status, err, out.String(), want)
		}
	}
}

// TestLocalInDirectory finds a command in the working directory, which PATH has.
func TestLocalInDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("some-program", []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".", ":/none"} {
		t.Setenv("PATH", path)
		cmd := new(client.Client).Command(client.FrontEnd, "some-program")
		if status, err := run(t.Context(), cmd); status.ExitCode() != 3 || err != nil {
			t.Errorf("PATH=%s: got %#x, %v", path, status, err)
		}
	}
}
