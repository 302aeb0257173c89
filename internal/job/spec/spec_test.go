package spec_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/job/spec"
)

func TestDecode(t *testing.T) {
	s := spec.Spec{Action: spec.Run, Root: "/r", Job: "j", Process: "p", Env: []string{"a=b c"}, UID: 7}
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := spec.Decode(strings.TrimPrefix(text, spec.Environment+"="))
	if err != nil || got.Env[0] != "a=b c" || got.UID != 7 || got.JobDir() != "/r/jobs/j" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, text := range []string{
		"", "[]", "{}", `{"Root":"/r","Job":"j","Process":".."}`, `{"Root":"/r","Job":"a/b","Process":"p"}`,
		`{"Root":"r","Job":"j","Process":"p"}`, `{"Root":"/r/..","Job":"j","Process":"p"}`,
	} {
		if got, err := spec.Decode(text); err == nil {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	sums := func() map[string]string {
		t.Helper()
		m, err := spec.Sums(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	write("a", "1", 0o644)
	if err := os.Symlink("a", filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	before := sums()
	if len(before) != 5 || !maps.Equal(before, sums()) {
		t.Errorf("got %v, then %v", before, sums())
	}
	write("a", "2", 0o644)
	contents := sums()
	if err := os.Chmod(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	mode := sums()
	if contents["a"] == before["a"] || mode["a"] == contents["a"] || mode["b"] != before["b"] {
		t.Errorf("got %v, %v, %v", before, contents, mode)
	}
	for what, change := range map[string]func() error{
		"owner of a file":     func() error { return os.Chown(filepath.Join(dir, "a"), 65534, -1) },
		"group of a link":     func() error { return os.Lchown(filepath.Join(dir, "b"), -1, 65534) },
		"mode of a directory": func() error { return os.Chmod(dir, 0o711) },
	} {
		was := sums()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if now := sums(); spec.HaveAll(was, now) || spec.HaveAll(now, was) || !spec.HaveAll(now, now) {
			t.Errorf("%s: got %v, then %v", what, was, now)
		}
	}
}

// TestSumsOfOthers compares files that a user, who can make them for no other user, copies.
func TestSumsOfOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs/web/file")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := &spec.Spec{Root: dir, Job: "web", Ordinary: true, UID: 65534, GID: 65534, Groups: []uint32{65534, 65533}}
	for d := dir; d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sums := func(uid, gid int) map[string]string {
		t.Helper()
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
		m, err := spec.OwnSums(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	roots, user, member := sums(0, 0), sums(65534, 65534), sums(65534, 65533)
	if !spec.HaveAll(user, roots) || !spec.HaveAll(roots, roots) || spec.HaveAll(roots, user) || spec.HaveAll(user, member) {
		t.Errorf("got %v, %v, %v", roots, user, member)
	}
}

// TestSumsOfLink checks that the files of a job are found behind a symbolic link.
func TestSumsOfLink(t *testing.T) {
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(filepath.Join(files, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "config/bpm.yml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "web")
	if err := os.Symlink(files, link); err != nil {
		t.Fatal(err)
	}
	want, err := spec.Sums(t.Context(), files)
	if err != nil || len(want) != 4 {
		t.Fatalf("got %v, %v", want, err)
	}
	if got, err := spec.Sums(t.Context(), link); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestSumsTravel checks that sums of files of any name reach the node.
func TestSumsTravel(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"caf\xe9", "caf\xea", "café", "a<b", "\"x\""} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := spec.Sums(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := spec.Spec{Root: "/r", Job: "j", Process: "p", Sums: sums}
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := spec.Decode(strings.TrimPrefix(text, spec.Environment+"=")); err != nil || !maps.Equal(got.Sums, sums) {
		t.Errorf("got %v, %v, want %v", got.Sums, err, sums)
	}
}

// TestSumsAsUser lets a user exchange a directory of the job with a symbolic link to one that only
// root can read.
func TestSumsAsUser(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "sums") // accessible to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	secret := t.TempDir()
	s := &spec.Spec{Root: root, Job: "web", Ordinary: true, UID: 65534, GID: 65534}
	for name, text := range map[string]string{secret: "of root", filepath.Join(s.JobDir(), "dir"): "of the user"} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, "file"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{root: 0o755, secret: 0o700} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	secrets, err := spec.Sums(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	mine, err := spec.OwnSums(t.Context(), s)
	if err != nil || len(mine) != 4 || mine["dir/file"] == secrets["file"] {
		t.Fatalf("got %v, %v", mine, err)
	}
	dir, link := filepath.Join(s.JobDir(), "dir"), filepath.Join(root, "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	var exchanges sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	exchanges.Go(func() {
		for ctx.Err() == nil {
			if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for ctx.Err() == nil {
		if sums, _ := spec.OwnSums(t.Context(), s); sums["dir/file"] == secrets["file"] {
			t.Error("root has read what the user cannot")
			break
		}
	}
	stop()
	exchanges.Wait()
}

// TestSumsEnd checks that reading of a very large file can be ended.
func TestSumsEnd(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 42); err != nil {
		t.Fatal(err)
	}
	errOver := errors.New("over")
	ctx, stop := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errOver)
	defer stop()
	if _, err := spec.Sums(ctx, dir); !errors.Is(err, errOver) {
		t.Errorf("got %v", err)
	}
}

// TestSumsOfMany checks that files have an end although they are many, or take long to list.
func TestSumsOfMany(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, strings.Repeat(strings.Repeat("d", 250)+"/", 12))
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if err := os.Symlink("x", filepath.Join(below, fmt.Sprintf("%0200d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if sums, err := spec.Sums(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir+" has too many") {
		t.Errorf("got %d sums, %v", len(sums), err)
	}
	errOver := errors.New("over")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errOver)
	if _, err := spec.Sums(ctx, dir); !errors.Is(err, errOver) {
		t.Errorf("got %v", err)
	}
}
