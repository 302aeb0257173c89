package space_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

func file(path string) wire.Descriptor {
	return wire.Descriptor{Mode: wire.DescriptorFile, Path: path}
}

// openDir returns a directory in which all users may create files.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bpf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFileForBothOutputs has a process write to the same file by turns.
func TestFileForBothOutputs(t *testing.T) {
	dir := openDir(t)
	n := newNode(t)
	sp := command(70001, "sh", "-c", "echo out1; echo err1-longer >&2; echo out2; echo err2-longer >&2")
	sp.Command.Dir, sp.Command.Umask = dir, 0o022
	sp.Command.Stdio = [3]wire.Descriptor{{}, file("both"), file("both")}
	n.mustLaunch(sp)
	n.awaitStatus(70001, over)
	got, err := os.ReadFile(filepath.Join(dir, "both"))
	if want := "out1\nerr1-longer\nout2\nerr2-longer\n"; string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestFilesForDescriptors(t *testing.T) {
	dir := openDir(t)
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("input"), 0o644); err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	sp := command(70001, "sh", "-c", "cat; echo oops >&2")
	sp.UID, sp.GID, sp.Command.Dir, sp.Command.Umask = 1234, 1234, dir, 0o006
	sp.Command.Stdio = [3]wire.Descriptor{file("in"), file(filepath.Join(dir, "out")), file("err")}
	n.mustLaunch(sp)
	n.awaitStatus(70001, over)
	for name, want := range map[string]string{"out": "input", "err": "oops\n"} {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		if st.Uid != 1234 || st.Mode&0o777 != 0o660 {
			t.Errorf("%s: owner %d, mode %o, want 1234, 660", name, st.Uid, st.Mode&0o777)
		}
	}
}

func TestFilesAreOpenedWithTheUsersRights(t *testing.T) {
	dir := openDir(t)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	for i, c := range []struct {
		stdio [3]wire.Descriptor
		want  unix.Errno
	}{
		{[3]wire.Descriptor{file(secret)}, unix.EACCES},
		{[3]wire.Descriptor{1: file(secret)}, unix.EACCES},
		{[3]wire.Descriptor{file(filepath.Join(dir, "absent"))}, unix.ENOENT},
		{[3]wire.Descriptor{2: file("/proc/1/x")}, unix.ENOENT},
	} {
		sp := command(wire.PID(70000+i), "true")
		sp.UID, sp.GID = 1234, 1234
		sp.Command.Stdio = c.stdio
		if got, want := n.launch(sp), (launchResult{wire.StageFile, c.want}); got != want {
			t.Errorf("%v: got %v, want %v", c.stdio, got, want)
		}
	}
}

// TestWorkingDirectory: a node may lack a directory, unless the command requires it.
func TestWorkingDirectory(t *testing.T) {
	dir := openDir(t)
	absent := filepath.Join(dir, "absent")
	n := newNode(t)
	for i, c := range []struct {
		dir  string
		only bool
		want launchResult
	}{
		{dir, true, launchResult{}},
		{absent, false, launchResult{}},
		{absent, true, launchResult{wire.StageDir, unix.ENOENT}},
		{"/root", true, launchResult{wire.StageDir, unix.EACCES}},
	} {
		sp := command(wire.PID(70100+i), "true")
		sp.UID, sp.GID = 1234, 1234
		sp.Command.Dir, sp.Command.OnlyDir = c.dir, c.only
		if got := n.launch(sp); got != c.want {
			t.Errorf("%s, %v: got %v, want %v", c.dir, c.only, got, c.want)
		}
	}
}

// A named pipe without a writer holds up its own launch, and nothing else.
func TestOpenThatBlocks(t *testing.T) {
	dir := openDir(t)
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	blocked := make(chan launchResult, 2)
	for _, pid := range []wire.PID{70001, 70002} {
		sp := command(pid, "cat")
		sp.Command.Stdio[0] = file(fifo)
		err := n.Launch(sp, nil, nil, func(stage wire.Stage, errno unix.Errno) { blocked <- launchResult{stage, errno} })
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := n.output(command(70003, "echo", "meanwhile")); text != "meanwhile\n" {
		t.Errorf("got %q", text)
	}
	n.awaitProcess(70001) // the other may have been quicker; a signal needs a process
	// The first is interrupted where it waits, the other gets its writer.
	if err := n.Signal(70001, info(unix.SIGTERM, codeUser, 1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if s := n.awaitStatus(70001, over); s.Signal() != unix.SIGTERM {
		t.Errorf("status %#x, want ended by SIGTERM", s)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if s := n.awaitStatus(70002, over); !s.Exited() || s.ExitStatus() != 0 {
		t.Errorf("status %#x, want exit 0", s)
	}
	for range 2 {
		if r := <-blocked; r != (launchResult{}) {
			t.Errorf("got %v, want success", r)
		}
	}
}

func TestStreams(t *testing.T) {
	n := newNode(t)
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	sp := command(70001, "cat")
	sp.Command.Stdio = [3]wire.Descriptor{{Mode: wire.DescriptorStream}, {Mode: wire.DescriptorStream}, {}}
	n.mustLaunch(sp, inR, outW)
	inR.Close()
	outW.Close()
	if _, err := inW.WriteString("through"); err != nil {
		t.Fatal(err)
	}
	inW.Close()
	got, err := io.ReadAll(outR)
	if err != nil || string(got) != "through" {
		t.Errorf("got %q, %v", got, err)
	}
	n.awaitStatus(70001, over)
}
