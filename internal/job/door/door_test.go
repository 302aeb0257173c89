package door_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/internal/job/door"
)

// serve starts a service, and returns its socket. Stop ends it.
func serve(t *testing.T) (socket string, stop func()) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "socket")
	l, err := door.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := door.Listen(socket); err == nil {
		second.Close()
		t.Error("two listen")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	s := &door.Server{Command: func(uid uint32, r door.Request) (*exec.Cmd, error) {
		if uid != uint32(os.Getuid()) {
			t.Errorf("got user %d", uid)
		}
		if len(r.Args) == 0 {
			return nil, errors.New("nothing to do")
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), scriptVariable+"="+r.Args[0])
		return cmd, nil
	}}
	go func() { ended <- s.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return socket, stop
}

// scriptVariable is the environment variable with the script that a command of the service runs.
const scriptVariable = "DOOR_TEST_SCRIPT"

func TestMain(m *testing.M) {
	script := os.Getenv(scriptVariable)
	switch {
	case script == "":
		os.Exit(m.Run())
	case !door.Check():
		os.Exit(1)
	}
	os.Unsetenv(scriptVariable)
	panic(unix.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ()))
}

// ask requests a script, and returns its output.
func ask(t *testing.T, socket, script string, signals <-chan os.Signal) (code int, out string, err error) {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var args []string
	if script != "" {
		args = []string{script}
	}
	code, err = door.Ask(socket, door.Request{Args: args}, [3]*os.File{from, to, to}, signals)
	to.Close()
	text, readErr := io.ReadAll(from)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return code, string(text), err
}

func TestDoor(t *testing.T) {
	socket, _ := serve(t)
	for _, tt := range []struct {
		script string
		code   int
		out    string
	}{
		{"echo one; echo two >&2", 0, "one\ntwo\n"},
		{"exit 7", 7, ""},
		{"kill -9 $$", 137, ""},
	} {
		if code, out, err := ask(t, socket, tt.script, nil); err != nil || code != tt.code || out != tt.out {
			t.Errorf("%s: got %d, %q, %v", tt.script, code, out, err)
		}
	}
	if _, _, err := ask(t, socket, "", nil); err == nil || err.Error() != "nothing to do" {
		t.Errorf("got %v", err)
	}
	if _, _, err := ask(t, socket, strings.Repeat("x", 1<<17), nil); err == nil {
		t.Error("a long request is accepted")
	}
	if _, _, err := ask(t, socket+"x", "true", nil); !errors.Is(err, door.ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestSignals(t *testing.T) {
	socket, _ := serve(t)
	signals := make(chan os.Signal, 2)
	signals <- unix.SIGKILL // users may not send it
	signals <- unix.SIGINT
	code, out, err := ask(t, socket, "trap 'echo INT; exit 3' INT; while :; do sleep 0.01; done", signals)
	if err != nil || (code != 3 || out != "INT\n") && code != 130 { // the signal may come before the trap
		t.Errorf("got %d, %q, %v", code, out, err)
	}
}

// TestEnd checks that the command of a user who is gone ends, so that the service can end.
func TestEnd(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	t.Cleanup(func() { // after the end of the service
		<-answered
		from.Close()
		to.Close()
	})
	socket, _ := serve(t)
	go func() {
		defer close(answered)
		_, _ = door.Ask(socket, door.Request{Args: []string{"echo began; exec sleep 1000"}}, [3]*os.File{from, to, to}, nil)
	}()
	if _, err := from.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	// The service ends in Cleanup, which waits for it.
}

// TestBound checks that a user with too many requests is refused, and is served again when requests
// have ended.
func TestBound(t *testing.T) {
	socket, _ := serve(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	const many = 40
	errs := make(chan error, many)
	for range many {
		go func() {
			_, _, err := ask(t, socket, "read x <"+gate, nil)
			errs <- err
		}()
	}
	for range many - 32 {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("got %v", err)
		}
	}
	f, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat("\n", 32)); err != nil {
		t.Fatal(err)
	}
	for range 32 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if code, _, err := ask(t, socket, "exit 5", nil); err != nil || code != 5 {
		t.Errorf("got %d, %v", code, err)
	}
}

// TestFilesOfTheKernel checks that a command of root's gets no file of which the kernel asks what the command may do, and
// is not started.
func TestFilesOfTheKernel(t *testing.T) {
	socket, _ := serve(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	ran := filepath.Join(t.TempDir(), "ran")
	for name, flags := range map[string]int{"/proc/self/oom_score_adj": os.O_RDWR, "/proc/self/status": os.O_RDONLY, "/sys/kernel/mm/transparent_hugepage/enabled": os.O_RDONLY} {
		f, err := os.OpenFile(name, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i, of := range []string{"standard input", "standard output", "standard error"} {
			files := [3]*os.File{null, null, null}
			files[i] = f
			_, err := door.Ask(socket, door.Request{Args: []string{"touch " + ran}}, files, nil)
			if err == nil || !strings.HasPrefix(err.Error(), of+" is a file of the kernel") {
				t.Errorf("%s as %s: got %v", name, of, err)
			}
		}
	}
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command was started: %v", err)
	}
	if code, err := door.Ask(socket, door.Request{Args: []string{"touch " + ran}}, [3]*os.File{null, null, null}, nil); code != 0 || err != nil {
		t.Errorf("with a device: got %d, %v", code, err)
	}
}

// silent is a file system that does not answer statfs(2) before it is released.
type silent struct {
	fs.Inode
	asked    chan struct{}
	released chan struct{}
}

func (s *silent) Statfs(context.Context, *fuse.StatfsOut) syscall.Errno {
	s.asked <- struct{}{}
	<-s.released
	return 0
}

// TestFileSystemThatDoesNotAnswer: it holds up only its user's request, which ends with the service.
func TestFileSystemThatDoesNotAnswer(t *testing.T) {
	socket, stop := serve(t)
	dir, s := t.TempDir(), &silent{asked: make(chan struct{}, 1), released: make(chan struct{})}
	server, err := fs.Mount(dir, s, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { close(s.released) })
	defer func() {
		release()
		f.Close()
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	ended := make(chan error)
	go func() {
		_, err := door.Ask(socket, door.Request{Args: []string{"true"}}, [3]*os.File{f, f, f}, nil)
		ended <- err
	}()
	<-s.asked
	if code, _, err := ask(t, socket, "exit 3", nil); code != 3 || err != nil {
		t.Errorf("meanwhile: got %d, %v", code, err)
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Error("the service does not end")
	}
	release()
	if err := <-ended; err != nil {
		t.Logf("the request ended: %v", err)
	}
}
