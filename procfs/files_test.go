package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func contains(names []string, name string) bool { return slices.Contains(names, name) }

func atMost(n, most int) error {
	if n > most {
		return fmt.Errorf("%d, want at most %d", n, most)
	}
	return nil
}

// as runs a shell command as an ordinary user, and reports whether it succeeds.
func as(uid uint32, command string) bool {
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &unix.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd.Run() == nil
}

// TestFilesOfTheNode reads files that are fetched from the node on access.
func TestFilesOfTheNode(t *testing.T) {
	m := mount(t)
	if err := os.Chmod(filepath.Dir(m.path), 0o755); err != nil { // users must be able to enter it
		t.Fatal(err)
	}
	pid := ghosts(t, 1)[0]
	at := pid.String() + "/"
	big := strings.Repeat("0123456789abcde\n", 20000)
	m.has(map[string]string{at + "maps": "maps\n", at + "smaps": big, at + "exe": "/bin/worker (deleted)", at + "net/dev": "dev\n", at + "fdinfo/3": "pos: 0\n"})
	m.lists(map[string][]Entry{
		at + "fd":     {{"0", fs.ModeSymlink, "/dev/null"}, {"3", fs.ModeSymlink, "pipe:[5]"}},
		at + "fdinfo": {{"3", 0, ""}},
		at + "net":    {{"dev", 0, ""}, {"../x", 0, ""}, {"", 0, ""}},
	})
	m.show(remote(pid, 'R', 1))

	m.names(pid)
	if _, err := os.Lstat(m.file(pid, "fd")); err != nil {
		t.Error(err)
	}
	m.mu.Lock()
	if len(m.fetched) != 0 {
		t.Errorf("for a listing were fetched: %q", m.fetched)
	}
	m.mu.Unlock()
	for path, want := range map[string]string{"maps": "maps\n", "smaps": big, "net/dev": "dev\n", "fdinfo/3": "pos: 0\n"} {
		if got := m.read(pid, path); got != want {
			t.Errorf("%s: got %.40q and %d bytes, want %d", path, got, len(got), len(want))
		}
	}
	m.has(map[string]string{at + "maps": "others\n"})
	eventually(t, func() error {
		if got := m.read(pid, "maps"); got != "others\n" {
			return fmt.Errorf("maps: got %q", got)
		}
		return nil
	})
	for path, want := range map[string]string{"exe": "/bin/worker (deleted)", "fd/0": "/dev/null", "fd/3": "pipe:[5]"} {
		if got, err := os.Readlink(m.file(pid, path)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	if names, _ := m.names(pid, "net"); !slices.Equal(names, []string{"dev"}) {
		t.Errorf("net: got %q", names)
	}
	for _, name := range []string{"limits", "ctty", "nothing"} {
		if _, err := os.ReadFile(m.file(pid, name)); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: got %v, want ENOENT", name, err)
		}
	}
	m.has(map[string]string{at + "wchan": "futex", at + "stack": "[<0>] futex\n"})
	for range 2 { // earlier readers make no difference
		for uid, want := range map[uint32]string{0: "futex", 1234: "futex", 1235: "0"} {
			if !as(uid, fmt.Sprintf("test $(cat %s) = %s", m.file(pid, "wchan"), want)) {
				t.Errorf("wchan is not %q for %d", want, uid)
			}
		}
	}
	if !as(0, "cat "+m.file(pid, "stack")) || as(1234, "cat "+m.file(pid, "stack")) {
		t.Error("stack is not for root only")
	}
	for _, name := range []string{"maps", "environ", "fd/3", "exe"} {
		look := fmt.Sprintf("cat %s || readlink %[1]s", m.file(pid, name))
		if !as(1234, look) || as(1235, look) {
			t.Errorf("%s: the owner may look: %v, others: %v", name, as(1234, look), as(1235, look))
		}
	}
}

// TestLocalProcess reads one of the front end's own processes, with and without following links.
func TestLocalProcess(t *testing.T) {
	m := mount(t)
	pid := ghosts(t, 1)[0] // the source does not know it
	for _, path := range []string{"limits", "cmdline", "task/" + pid.String() + "/comm", "oom_score_adj"} {
		want, err := os.ReadFile(filepath.Join("/proc", pid.String(), path))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.read(pid, path); got != string(want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{pid.String(), pid.String() + "/task", fmt.Sprintf("%d/task/%[1]d", pid)} {
		fd, err := unix.Open(m.file(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		unix.Close(fd)
	}
	if got, err := os.Readlink(m.file(pid, "exe")); err != nil || !strings.HasSuffix(got, "/sleep") {
		t.Errorf("exe: got %q, %v", got, err)
	}
	if err := os.WriteFile(m.file(pid, "oom_score_adj"), []byte("17"), 0); err != nil {
		t.Error(err)
	}
	if got := m.read(pid, "oom_score_adj"); got != "17\n" {
		t.Errorf("oom_score_adj: got %q", got)
	}
	if got := m.read("self", "stat"); !strings.HasPrefix(got, fmt.Sprint(os.Getpid(), " ")) {
		t.Errorf("self: got %q", got)
	}
	real, err := os.ReadDir("/proc/sys")
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := m.names("sys"); len(names) != len(real) {
		t.Errorf("sys: got %q", names)
	}
	if _, err := os.Stat(m.file(1 << 21)); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestNodes(t *testing.T) {
	m := mount(t)
	m.has(map[string]string{"node7/meminfo": "MemTotal: 1 kB\n", "node7/net/dev": "dev\n"})
	m.lists(map[string][]Entry{"node7/net": {{"dev", 0, ""}}})
	if names, _ := m.names("bproc", "nodes"); !slices.Equal(names, []string{"0", "7"}) {
		t.Errorf("nodes: got %q", names)
	}
	for path, want := range map[string]string{"0/state": "up\n", "7/state": "down\n", "7/meminfo": "MemTotal: 1 kB\n", "7/net/dev": "dev\n"} {
		if got := m.read("bproc", "nodes", path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"1", "07", "7/kcore", "-1"} {
		if _, err := os.Stat(m.file("bproc", "nodes", path)); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: got %v, want ENOENT", path, err)
		}
	}
}

// TestNonsense has nodes report impossible texts.
func TestNonsense(t *testing.T) {
	m := mount(t)
	pids := ghosts(t, 2)
	for _, stat := range []string{"", "x", "1 (", "1 )(", "1 () ", fmt.Sprintf("%d (x) R 1 2 3\n", pids[0]), strings.Repeat("(", 1000)} {
		p := remote(pids[0], 'R', 1)
		p.Stat = []byte(stat)
		m.show(p)
		if got := m.read(pids[0], "comm"); got != "sleep\n" {
			t.Errorf("stat %.30q: comm is %q, want that of the ghost", stat, got)
		}
	}
	m.show(remote(pids[1], 'R', 1))
	other := remote(pids[1], 'Z', 1)
	other.Node = 4
	m.show(other)
	if got := m.read(pids[1], "stat"); !strings.Contains(got, ") R ") {
		t.Errorf("a process that another node claims: got %q", got)
	}
}
