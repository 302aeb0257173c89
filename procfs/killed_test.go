package procfs

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"bproc/test/limit"
	"golang.org/x/sys/unix"
)

// victimVariable makes this binary the server of a view, mounted on the directory
// in it, of a cluster that never answers; to be killed.
const victimVariable = "BPROC_TEST_VICTIM"

// unguardedVariable makes the victim have no guard.
const unguardedVariable = "BPROC_TEST_UNGUARDED"

// stuck is a Source that keeps who looks waiting, while there is something new in the
// directory that they look into.
type stuck struct {
	Source

	view *View
	came chan struct{} // closed when the view is there
	told chan struct{} // the first to look is here
}

func (s *stuck) Refresh(ctx context.Context, now bool, take func(Changes)) error {
	select {
	case <-s.came:
	default:
		return nil
	}
	s.view.table.at(place{1, "self"}, func() file { return &emptyDir{} })
	s.view.news.later(place{1, "self"})
	select {
	case s.told <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

// victim says when its view is there, and when somebody looks into it.
func victim(at string) error {
	s := &stuck{came: make(chan struct{}), told: make(chan struct{}, 1)}
	cfg := Config{Mountpoint: at, Guard: []string{guardName}, Ready: func() {
		close(s.came)
		s.view.rounds.reset()
		fmt.Println("ready")
	}}
	if os.Getenv(unguardedVariable) != "" {
		cfg.Guard = nil
	}
	s.view = New(cfg, s, slog.New(slog.DiscardHandler))
	go func() {
		<-s.told
		for len(s.view.news.bell) > 0 { // until it is being told
			time.Sleep(time.Millisecond)
		}
		fmt.Println("looked at")
	}()
	return s.view.Run(context.Background())
}

// midst is a server that is in the middle of what it does: a reader has a directory
// locked, waiting for an answer, and the server waits for the directory.
type midst struct {
	*testing.T
	at     string
	server *exec.Cmd
	reader *exec.Cmd
}

func startMidst(t *testing.T, env ...string) *midst {
	m := &midst{t, t.TempDir(), exec.Command("/proc/self/exe"), nil}
	m.server.Env = append(os.Environ(), append(env, victimVariable+"="+m.at)...)
	m.server.Stderr = os.Stderr
	out, err := m.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(m.at, unix.MNT_FORCE|unix.MNT_DETACH) }) // nothing is there, unless the test failed
	lines := bufio.NewScanner(out)
	says := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the server says %q, %v, want %q", lines.Text(), lines.Err(), want)
		}
	}
	says("ready")
	m.reader = exec.Command("stat", m.at+"/"+strconv.Itoa(os.Getpid()))
	if err := m.reader.Start(); err != nil {
		t.Fatal(err)
	}
	says("looked at")
	return m
}

// ends wants a process to end, and not well.
func (m *midst) ends(name string, cmd *exec.Cmd) {
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

// TestKilledInTheMiddle kills a server. It must end, and so must the reader.
func TestKilledInTheMiddle(t *testing.T) {
	m := startMidst(t)
	if err := m.server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	m.ends("the server", m.server)
	m.ends("the reader", m.reader)
}

// TestKilledWithItsGuard kills a server that nobody guards. The next one on the same
// mount point frees them.
func TestKilledWithItsGuard(t *testing.T) {
	m := startMidst(t, unguardedVariable+"=1")
	if err := m.server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	next := New(Config{Mountpoint: m.at}, nil, slog.New(slog.DiscardHandler))
	next.deaf = 50 * time.Millisecond
	if err := next.prepare(); err != nil {
		t.Error(err)
	}
	m.ends("the server", m.server)
	m.ends("the reader", m.reader)
	if mountedView(m.at) {
		t.Error("the former view is still mounted")
	}
}
