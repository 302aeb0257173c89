package procfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// victimVariable makes this binary the server of a view of a cluster that never answers, mounted on
// the directory in the variable. Tests kill the server.
const victimVariable = "BPROC_TEST_VICTIM"

// Variables that change a victim.
const (
	unguardedVariable = "BPROC_TEST_UNGUARDED" // it has no guard
	unopenedVariable  = "BPROC_TEST_UNOPENED"  // it never answers its own lookup of /proc/bproc
	watchedVariable   = "BPROC_TEST_WATCHED"   // it waits for its own answer to statfs(2)
	singleVariable    = "BPROC_TEST_SINGLE"    // it takes no request before it has answered the last one
)

// unopened is a root directory in which the lookup of /proc/bproc never returns.
type unopened struct {
	directory

	asked chan<- struct{}
}

func (u *unopened) lookup(ctx context.Context, self uint64, name string, who fuse.Owner) (*inode, time.Duration, unix.Errno) {
	if name == own {
		u.asked <- struct{}{}
		select {} // longer than any test
	}
	return u.directory.lookup(ctx, self, name, who)
}

// stuck is a Source that does not answer once the view is mounted.
type stuck struct {
	Source

	came  chan struct{} // closed when the view is mounted
	asked chan struct{} // a call waits for an answer
}

func (s *stuck) Refresh(ctx context.Context, _ bool, _ func(Changes)) error {
	select {
	case <-s.came:
		return s.wait(ctx)
	default:
		return nil
	}
}

func (s *stuck) Nodes(ctx context.Context) ([]Node, error) { return nil, s.wait(ctx) }

func (s *stuck) wait(ctx context.Context) error {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

// victim serves a view. It reports when the view is mounted and when a reader waits. For each line
// of input it notifies the kernel of a name in the root directory.
func victim(at string) error {
	s := &stuck{came: make(chan struct{}), asked: make(chan struct{}, 1)}
	var v *View
	cfg := Config{Mountpoint: at, Guard: []string{guardName}, Scout: []string{scoutName}, Ready: func() {
		close(s.came)
		v.rounds.reset()
		fmt.Println("ready")
	}}
	if os.Getenv(unguardedVariable) != "" {
		cfg.Guard = nil
	}
	v = New(cfg, s, slog.New(slog.DiscardHandler))
	if os.Getenv(singleVariable) != "" {
		v.inflight = 1
	}
	if root := v.table.find(rootID); os.Getenv(unopenedVariable) != "" {
		u := &unopened{root.file.(directory), s.asked}
		root.file = u
	}
	if os.Getenv(watchedVariable) != "" {
		v.statfs = func() {
			s.asked <- struct{}{}
			select {} // longer than any test
		}
		go func() { <-s.came; _ = v.Answers() }()
	}
	go func() {
		<-s.asked
		fmt.Println("asked")
		_, _ = fmt.Scanln()
		v.table.at(place{rootID, "self"}, func() file { return &emptyDir{} })
		v.news.later(place{rootID, "self"})
	}()
	return v.Run(context.Background())
}

// victims are a server and the readers of its view.
type victims struct {
	*testing.T
	at      string
	server  *exec.Cmd
	in      io.Writer
	lines   *bufio.Scanner
	readers []*exec.Cmd
}

func startServer(t *testing.T, env ...string) *victims {
	m := &victims{T: t, at: t.TempDir(), server: exec.Command("/proc/self/exe")}
	m.server.Env = append(os.Environ(), append(env, victimVariable+"="+m.at)...)
	m.server.Stderr = os.Stderr
	in, err := m.server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.in, m.lines = in, bufio.NewScanner(out)
	if err := m.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(m.at, unix.MNT_FORCE|unix.MNT_DETACH) }) // a no-op unless the test failed
	return m
}

// says expects a line from the server.
func (m *victims) says(want string) {
	m.Helper()
	if !m.lines.Scan() || m.lines.Text() != want {
		m.Fatalf("the server says %q, %v, want %q", m.lines.Text(), m.lines.Err(), want)
	}
}

// read starts a reader that looks up a name.
func (m *victims) read(name string) {
	m.Helper()
	reader := exec.Command("stat", m.at+"/"+name)
	if err := reader.Start(); err != nil {
		m.Fatal(err)
	}
	m.readers = append(m.readers, reader)
}

// tell has the server notify the kernel of a change in the root directory, which a reader has
// locked.
func (m *victims) tell() {
	m.Helper()
	if _, err := fmt.Fprintln(m.in); err != nil {
		m.Fatal(err)
	}
	eventually(m.T, func() error {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", m.server.Process.Pid))
		for _, path := range stats {
			if text, _ := os.ReadFile(path); strings.Contains(string(text), ") D ") {
				return nil
			}
		}
		return errors.New("no thread of the server waits for a directory")
	})
}

// startMidst returns a server in the middle of its work: a reader that waits for an answer has a
// directory locked, and the server waits for the directory.
func startMidst(t *testing.T, env ...string) *victims {
	m := startServer(t, env...)
	m.says("ready")
	m.read(strconv.Itoa(os.Getpid()))
	m.says("asked")
	m.tell()
	return m
}

func (m *victims) signal(sig unix.Signal) {
	m.Helper()
	if err := m.server.Process.Signal(sig); err != nil {
		m.Fatal(err)
	}
}

// awaitStop waits until each thread of the server has stopped, or will when it gets an answer from the
// view: that one stops no more.
func (m *victims) awaitStop() {
	m.Helper()
	tasks := fmt.Sprintf("/proc/%d/task", m.server.Process.Pid)
	eventually(m.T, func() error {
		threads, err := os.ReadDir(tasks)
		if err != nil {
			return err
		}
		for _, thread := range threads {
			stat, err := os.ReadFile(filepath.Join(tasks, thread.Name(), "stat"))
			if err != nil {
				return err
			}
			_, rest, _ := strings.Cut(string(stat), ") ")
			if state := rest[0]; state != 'T' && state != 'D' {
				return fmt.Errorf("thread %s is %c", thread.Name(), state)
			}
		}
		return nil
	})
}

// end expects the server and all readers to fail.
func (m *victims) end() {
	m.Helper()
	m.ends("the server", m.server)
	for _, reader := range m.readers {
		m.ends("a reader", reader)
	}
}

// ends expects a process to fail.
func (m *victims) ends(name string, cmd *exec.Cmd) {
	m.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			m.Errorf("%s has ended well", name)
		}
	case <-time.After(limit.Scaled(2 * time.Minute)):
		m.Errorf("%s (%d) cannot be killed", name, cmd.Process.Pid)
	}
}

// TestKilledInTheMiddle kills a server together with its guard, as the end of a PID namespace does.
// The server and the reader must end.
func TestKilledInTheMiddle(t *testing.T) {
	m := startMidst(t, unguardedVariable+"=1")
	m.signal(unix.SIGKILL)
	m.end()
}

// TestKilledWhileItOpens kills a server together with its guard while it looks up its own view to
// mount the real procfs in it.
func TestKilledWhileItOpens(t *testing.T) {
	m := startServer(t, unguardedVariable+"=1", unopenedVariable+"=1")
	m.says("asked")
	m.signal(unix.SIGKILL)
	m.end()
}

// TestKilledWhileWatched kills a server together with its guard while it checks that its view
// answers.
func TestKilledWhileWatched(t *testing.T) {
	m := startServer(t, unguardedVariable+"=1", watchedVariable+"=1")
	m.says("ready")
	m.says("asked")
	m.signal(unix.SIGKILL)
	m.end()
}

// TestGuard kills a server that waits for a directory. A reader has the directory locked, and its
// request has not been taken. The guard frees both.
func TestGuard(t *testing.T) {
	m := startServer(t, singleVariable+"=1")
	m.says("ready")
	m.read("bproc/nodes/0")
	m.says("asked")
	m.read(strconv.Itoa(os.Getpid()))
	eventually(t, func() error { return m.waiting(2) })
	m.tell()
	m.signal(unix.SIGKILL)
	m.end()
}

// waiting expects a number of unanswered requests.
func (m *victims) waiting(want int) error {
	m.Helper()
	control := m.TempDir()
	if err := unix.Mount("fusectl", control, "fusectl", 0, ""); err != nil {
		m.Fatal(err)
	}
	defer unix.Unmount(control, 0)
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, m.at, unix.AT_STATX_DONT_SYNC, 0, &st); err != nil {
		m.Fatal(err)
	}
	got, err := os.ReadFile(fmt.Sprintf("%s/%d/waiting", control, st.Dev_minor))
	if err == nil && strings.TrimSpace(string(got)) != strconv.Itoa(want) {
		err = fmt.Errorf("%s requests wait, want %d", got, want)
	}
	return err
}

// TestDeafView checks that the next view on a mount point frees the readers of a server that does
// not answer.
func TestDeafView(t *testing.T) {
	m := startMidst(t, unguardedVariable+"=1")
	m.signal(unix.SIGSTOP)
	m.awaitStop()
	next := New(Config{Mountpoint: m.at}, nil, slog.New(slog.DiscardHandler))
	next.deaf = 50 * time.Millisecond
	if err := next.prepare(); err != nil {
		t.Error(err)
	}
	m.signal(unix.SIGKILL)
	m.end()
	if mountedView(m.at) {
		t.Error("the former view is still mounted")
	}
}
