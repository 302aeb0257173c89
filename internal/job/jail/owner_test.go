package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

// lay makes a directory with an owner, and opens it.
func lay(t *testing.T, path string, uid int, mode os.FileMode) int {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// seen returns the owner and the permissions of a file.
func seen(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %o", st.Uid, st.Mode&0o7777)
}

func TestTake(t *testing.T) {
	const former, present, third = 12345, 12346, 12347
	for i, tt := range []struct {
		what       string
		uid        int
		mode       os.FileMode
		former     int
		privileged bool
		want       string
	}{
		{"the former owner's", former, 0o777, former, false, "12346 700"},
		{"the present owner's", present, 0o755, present, false, "12346 755"},
		{"a third one's, which the former owner has put there", third, 0o777, former, false, "12347 777"},
		{"for a privileged process", former, 0o700, former, true, "12345 700"},
		{"root's, made for the job", 0, 0o700, 0, false, "12346 700"},
		{"root's, of another kind", 0, 0o755, 0, false, "0 755"},
	} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		fd := lay(t, path, tt.uid, tt.mode)
		r := &root{Spec: &spec.Spec{UID: present, GID: present, Privileged: tt.privileged}}
		if tt.privileged {
			r.UID, r.GID = 0, 0
		}
		if err := r.take(fd, owner{tt.former, tt.former}); err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
		if got := seen(t, path); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.what, got, tt.want)
		}
	}
}

// TestTakeFiles gives a user the directories of the former owner with the files of a job, but none to
// which the former owner has made a link, and none that is another user's.
func TestTakeFiles(t *testing.T) {
	const former, present, third = 12345, 12346, 12347
	s := &spec.Spec{Root: t.TempDir(), Job: "web", Ordinary: true, UID: present, GID: present}
	dir := func(name string) string { return filepath.Join(s.Root, "jobs", name) }
	for name, uid := range map[string]int{"web": former, "web/bin": former, "web/bin/deep": former, "web/other": third, "mine": former} {
		lay(t, dir(name), uid, 0o700)
	}
	lay(t, dir("web/other/below"), former, 0o700)
	if err := os.Chown(dir("web/other"), third, third); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir("mine"), dir("web/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir("web/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir("web/file"), former, former); err != nil {
		t.Fatal(err)
	}
	if err := takeFiles(s); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"web": "12346 700", "web/bin": "12346 700", "web/bin/deep": "12346 700",
		"web/other": "12347 700", "web/other/below": "12345 700", "mine": "12345 700", "web/file": "12345 600",
	} {
		if got := seen(t, dir(name)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestTakeFilesOfRoot: directories of root's are given only if they were made for copies.
func TestTakeFilesOfRoot(t *testing.T) {
	s := &spec.Spec{Root: t.TempDir(), Job: "web", UID: 12345, GID: 12345}
	lay(t, s.JobDir(), 0, 0o755)
	s.Ordinary = true
	if err := takeFiles(s); err == nil || seen(t, s.JobDir()) != "0 755" {
		t.Errorf("root's own directory: got %v, %s", err, seen(t, s.JobDir()))
	}
	if err := os.Remove(s.JobDir()); err != nil {
		t.Fatal(err)
	}
	s.Ordinary = false
	if err := makeJobDir(s); err != nil {
		t.Fatal(err)
	}
	s.Ordinary = true
	if err := takeFiles(s); err != nil || seen(t, s.JobDir()) != "12345 755" {
		t.Errorf("a copy of root's: got %v, %s", err, seen(t, s.JobDir()))
	}
}
