package procfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
	"bproc/wire"
)

func TestRemoteProcessIsShown(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	if got := m.read(pid, "comm"); got != "sleep\n" {
		t.Errorf("before it is known, comm of the ghost: got %q", got)
	}
	m.show(remote(pid, 'R', 42))
	_, types := m.names()
	if types[pid.String()] != fs.ModeDir {
		t.Errorf("type of /proc/%d: got %v, want a directory", pid, types[pid.String()])
	}
	for name, want := range map[string]string{
		"comm": "worker\n", "cmdline": fmt.Sprintf("worker\x00--rank\x00%d\x00", pid), "statm": "2048 220 100 5 0 60 0\n",
	} {
		if got := m.read(pid, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := m.read(pid, "stat"); !strings.HasPrefix(got, fmt.Sprintf("%d (worker) R 1 ", pid)) {
		t.Errorf("stat: got %q", got)
	}
	if got := m.read(pid, "status"); !strings.HasSuffix(got, "\nBProcNode:\t3\n") {
		t.Errorf("status: got %q", got)
	}
	if got, want := m.read(pid, "task", pid, "stat"), m.read(pid, "stat"); got != want {
		t.Errorf("stat of its thread: got %q, want %q", got, want)
	}
	var st unix.Stat_t
	if err := unix.Stat(m.file(pid), &st); err != nil || st.Uid != 1234 || st.Gid != 100 {
		t.Errorf("owner: got %d:%d, %v, want 1234:100", st.Uid, st.Gid, err)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct{ stat, status, want string }{
		{"cat", "Name:\tcat\nState:\tS\n", "cat\n"},
		{"a) (b\nc", "Name:\ta) (b\\nc\n", "a) (b\nc\n"},
		{`a\\nb`, `Name:	a\\nb` + "\n", `a\nb` + "\n"}, // Linux 5.10: escaped in both
		{`a\nb`, `Name:	a\\nb` + "\n", `a\nb` + "\n"},
		{`a\`, `Name:	a\\` + "\n", `a\` + "\n"},
		{"cat", "", "cat\n"},
	} {
		if got := comm([]byte(tc.stat), []byte(tc.status)); string(got) != tc.want {
			t.Errorf("%q, %q: got %q, want %q", tc.stat, tc.status, got, tc.want)
		}
	}
}

// TestReadersOfTheServersProgram opens a file of the view in the program that serves it, by package os, with one
// processor for Go: before polls were refused this hung.
func TestReadersOfTheServersProgram(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := mount(t)
	pid := ghosts(t, 1)[0]
	m.show(remote(pid, 'R', 1))
	f, err := os.Open(m.file(pid, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestChangeIsShown(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	m.show(remote(pid, 'R', 1))
	before := m.read(pid, "stat")
	held, err := os.Open(m.file(pid, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	m.show(remote(pid, 'Z', 100000))
	if got := m.read(pid, "stat"); !strings.Contains(got, ") Z ") || !strings.Contains(got, " 100000 3 ") {
		t.Errorf("after it has changed: got %q", got)
	}
	b := make([]byte, 4096)
	if n, err := held.Read(b); err != nil || string(b[:n]) != before {
		t.Errorf("opened before it has changed: got %q, %v, want %q", b[:n], err, before)
	}
}

// startView runs a view until the context ends, and returns where it is mounted and how it ends.
func startView(ctx context.Context, t *testing.T, keep bool) (path string, ended <-chan error) {
	t.Helper()
	ready, end := make(chan struct{}), make(chan error, 1)
	path = t.TempDir()
	view := New(Config{Mountpoint: path, Keep: keep, Guard: []string{guardName}, Ready: func() { close(ready) }}, &cluster{}, slog.New(slog.DiscardHandler))
	go func() { end <- view.Run(ctx) }()
	select {
	case <-ready:
	case err := <-end:
		t.Fatal(err)
	}
	return path, end
}

// viewEnds waits for the end of a view.
func viewEnds(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit.Scaled(time.Minute)):
		t.Error("the view does not end")
	}
}

// TestEndOfAViewInUse ends a view while a program is in it.
func TestEndOfAViewInUse(t *testing.T) {
	pid := ghosts(t, 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path, ended := startView(ctx, t, false)
	user := exec.CommandContext(t.Context(), "sleep", "600")
	user.Dir = filepath.Join(path, pid.String())
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = user.Process.Kill(); _ = user.Wait() }()
	cancel()
	viewEnds(t, ended)
}

// TestUnmountedByAnother has another process unmount a view with Keep: the real procfs stays.
func TestUnmountedByAnother(t *testing.T) {
	path, ended := startView(t.Context(), t, true)
	defer func() { _ = unix.Unmount(path, unix.MNT_DETACH) }()
	if out, err := exec.CommandContext(t.Context(), "umount", "-R", path).CombinedOutput(); err != nil {
		t.Fatalf("umount: %v: %s", err, out)
	}
	viewEnds(t, ended)
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		t.Errorf("on the mount point is type %x, %v, want procfs", fs.Type, err)
	}
}

// isErrno returns an error if got is not the wanted errno.
func isErrno(what string, got error, want unix.Errno) error {
	if errors.Is(got, want) {
		return nil
	}
	return errors.New(fmt.Sprint(what, ": got ", got, ", want ", want))
}

func TestEndedProcess(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0]
	m.show(remote(pid, 'R', 1))
	dir, err := unix.Open(m.file(pid), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	stat := func() error {
		fd, err := unix.Openat(dir, "stat", unix.O_RDONLY, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	if err := stat(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(int(pid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(int(pid), nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	m.tell(Changes{Ended: []wire.PID{pid}})
	m.round()
	eventually(t, func() error {
		_, err := os.Stat(m.file(pid))
		return errors.Join(isErrno("a new lookup", err, unix.ENOENT), isErrno("in the open directory", stat(), unix.ESRCH))
	})
}
