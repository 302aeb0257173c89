package procfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLinksLeadNowhere follows links of a process elsewhere, whose texts are paths of files on this
// machine, before and after their texts were read.
func TestLinksLeadNowhere(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	m := mount(t)
	pid := ghosts(t, 1)[0]
	m.has(map[string]string{fmt.Sprintf("%d/exe", pid): secret, fmt.Sprintf("%d/cwd", pid): filepath.Dir(secret)})
	m.lists(map[string][]Entry{fmt.Sprintf("%d/fd", pid): {{Name: "1", Type: os.ModeSymlink, Target: secret}}})
	m.show(remote(pid, 'S', 1))
	for link, text := range map[string]string{"exe": secret, "fd/1": secret, "cwd": filepath.Dir(secret)} {
		path := m.file(pid, link)
		for range 3 {
			checkLeadsNowhere(t, path)
			if got, err := os.Readlink(path); err != nil || got != text {
				t.Errorf("readlink of %s: got %q, %v, want %q", link, got, err, text)
			}
		}
	}
	if err := os.Chdir(m.file(pid, "cwd")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("chdir: got %v, want %v", err, unix.ELOOP)
	}
	if _, err := os.ReadFile(m.file(pid, "cwd", "secret")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a file beyond cwd: got %v, want %v", err, unix.ELOOP)
	}
	script := fmt.Sprintf("echo theirs >%s; readlink %[1]s; ls -l %s", m.file(pid, "fd/1"), m.file(pid, "fd"))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
	if err != nil || strings.Count(string(out), secret) != 2 {
		t.Errorf("a shell prints %q, %v", out, err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "mine" {
		t.Errorf("the file was changed: %q, %v", text, err)
	}
}

func checkLeadsNowhere(t *testing.T, path string) {
	t.Helper()
	for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY | unix.O_TRUNC, unix.O_PATH} {
		if fd, err := unix.Open(path, flags, 0); !errors.Is(err, unix.ELOOP) {
			t.Errorf("open of %s: got %d, %v, want %v", path, fd, err, unix.ELOOP)
		}
	}
	if _, err := os.Stat(path); err != nil { // stat is harmless, and lsof(8) uses it
		t.Errorf("stat of %s: %v", path, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("lstat of %s: got %v, %v", path, info, err)
	}
}
