package place_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bproc/internal/job/life"
	"bproc/internal/job/place"
)

// stranger is the environment variable that makes this program look at a process below the root
// that it names, as another user.
const stranger = "PLACE_TEST_STRANGER"

func TestMain(m *testing.M) {
	if root := os.Getenv(stranger); root != "" {
		os.Exit(look(root)) //nolint:forbidigo // the main function of tests
	}
	os.Exit(m.Run()) //nolint:forbidigo // as above
}

// look tries to open the lock files, by which it could block others, and prints what it can read
// about the process.
func look(root string) int {
	p := place.Process{Job: place.Job{Root: root, Name: "web"}, Process: "server"}
	for _, suffix := range []string{"lock", "request"} {
		f, err := os.Open(strings.TrimSuffix(p.PIDFile(), "pid") + suffix)
		if !errors.Is(err, os.ErrPermission) {
			_, _ = os.Stdout.WriteString("opened " + suffix + "\n")
			f.Close()
		}
	}
	r, err := p.Read()
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error() + "\n")
		return 1
	}
	_, _ = os.Stdout.WriteString(r.State.String() + "\n")
	return 0
}

// TestStranger lets a user look at a process whose lock files belong to root: the user sees whether
// it runs, and can lock nothing.
func TestStranger(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "place") // accessible to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(root, "stranger")
	if err := os.WriteFile(exe, program, 0o755); err != nil { //nolint:gosec // others execute it
		t.Fatal(err)
	}
	sees := func() string {
		t.Helper()
		cmd := exec.Command(exe)
		cmd.Env = []string{stranger + "=" + root}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	p := place.Process{Job: place.Job{Root: root, Name: "web"}, Process: "server"}
	for _, take := range []func() (*place.Lock, error){p.Request, p.Supervise} {
		lock, err := take()
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
	}
	r := place.Record{Record: life.Record{State: life.Running, Run: 1}, PID: 4711, Supervisor: os.Getpid(), Born: place.Born(os.Getpid())}
	for _, tt := range []struct {
		what string
		born uint64
		want string
	}{
		{"a supervisor that lives", r.Born, "running"},
		{"one whose number is another's", r.Born + 1, "failed"},
	} {
		r.Born = tt.born
		if err := p.Write(r); err != nil {
			t.Fatal(err)
		}
		if got := sees(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}
