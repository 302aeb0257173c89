package door_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
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
	"bproc/test/limit"
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
	case os.Getenv(userVariable) != "":
		beUser(os.Getenv(userVariable), os.Getenv("DOOR_TEST_FILE"))
	case script == "":
		limit.Tests(m) // keeps the exit code for the caller of TestMain
	case !door.Enter():
		unix.Exit(1)
	default:
		unix.Exit(runScript(script))
	}
}

// runScript runs a script, to which it passes signals, and returns its exit code.
func runScript(script string) int {
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	_ = cmd.Wait() // the state has the result
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
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
	deadline := time.Now().Add(time.Minute)
	code, _, err := ask(t, socket, "exit 5", nil)
	for err != nil && strings.Contains(err.Error(), "already") && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // a request counts until its connection has ended, which is after its answer
		code, _, err = ask(t, socket, "exit 5", nil)
	}
	if err != nil || code != 5 {
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

// silent is a file system that answers neither statfs(2) nor the close of its file before it is
// released.
type silent struct {
	fs.Inode
	asked    chan struct{}
	released chan struct{}
}

func (s *silent) OnAdd(ctx context.Context) {
	s.AddChild("file", s.NewPersistentInode(ctx, &silentFile{silent: s}, fs.StableAttr{Mode: unix.S_IFREG}), false)
}

func (s *silent) holdUp() syscall.Errno {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-s.released
	return 0
}

func (s *silent) Statfs(context.Context, *fuse.StatfsOut) syscall.Errno { return s.holdUp() }

type silentFile struct {
	fs.Inode
	silent *silent
}

func (f *silentFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return f, 0, 0
}

func (f *silentFile) Flush(context.Context, fs.FileHandle) syscall.Errno { return f.silent.holdUp() }

// userVariable is the environment variable with the socket for which a process is a user with a file
// of a silent file system.
const userVariable = "DOOR_TEST_USER"

// beUser asks for a command with a file as its standard descriptors.
func beUser(socket, name string) {
	f, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	_, _ = door.Ask(socket, door.Request{Args: []string{"true"}}, [3]*os.File{f, f, f}, nil)
}

// TestFileSystemThatDoesNotAnswer: it holds up only its user's request, and not the end of the service.
func TestFileSystemThatDoesNotAnswer(t *testing.T) {
	socket, stop := serve(t)
	dir, s := t.TempDir(), &silent{asked: make(chan struct{}, 1), released: make(chan struct{})}
	server, err := fs.Mount(dir, s, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		t.Fatal(err)
	}
	user := exec.Command(os.Args[0])
	user.Env = append(os.Environ(), userVariable+"="+socket, "DOOR_TEST_FILE="+filepath.Join(dir, "file"))
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		close(s.released)
		if err := user.Wait(); err != nil {
			t.Error(err)
		}
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	<-s.asked
	for range 3 {
		if code, _, err := ask(t, socket, "exit 3", nil); code != 3 || err != nil {
			t.Errorf("meanwhile: got %d, %v", code, err)
		}
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Error("the service does not end")
	}
}
