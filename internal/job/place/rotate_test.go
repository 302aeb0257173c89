package place_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bproc/internal/job/place"
)

// logged writes pieces to a rotated log, and returns its files, the oldest first.
func logged(t *testing.T, path string, r place.Rotation, pieces ...string) []string {
	t.Helper()
	l, err := place.OpenRotated(path, os.Getuid(), os.Getgid(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, p := range pieces {
		if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("write %q: %d, %v", p, n, err)
		}
	}
	return files(t, path)
}

func files(t *testing.T, path string) (texts []string) {
	t.Helper()
	for i := len(glob(t, path)) - 1; i >= 0; i-- {
		name := path
		if i > 0 {
			name = fmt.Sprintf("%s.%d", path, i)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

func glob(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRotation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		r      place.Rotation
		pieces []string
		want   string // files, separated by |
	}{
		{"no limit", place.Rotation{}, []string{"one\n", "two\n"}, "one\ntwo\n"},
		{"it fits", place.Rotation{MaxSize: 8, Keep: 3}, []string{"one\n", "two\n"}, "one\ntwo\n"},
		{"a line too much", place.Rotation{MaxSize: 8, Keep: 3}, []string{"one\n", "two\n", "six\n"}, "one\ntwo\n|six\n"},
		{"lines at once", place.Rotation{MaxSize: 8, Keep: 3}, []string{"one\ntwo\nsix\nten\nnew\n"}, "one\ntwo\n|six\nten\n|new\n"},
		{"a line in pieces stays whole", place.Rotation{MaxSize: 10, Keep: 3}, []string{"one\n", "tw", "o, and more", "\n", "six\n"}, "one\ntwo, and more\n|six\n"},
		{"a line begins a file", place.Rotation{MaxSize: 8, Keep: 3}, []string{"one\n", "two, six\n"}, "one\n|two, six\n|"},
		{"a line is cut at twice the size", place.Rotation{MaxSize: 4, Keep: 9}, []string{"12345678901234567890\n"}, "12345678|90123456|7890\n|"},
		{"former ones go", place.Rotation{MaxSize: 4, Keep: 2}, []string{"one\n", "two\n", "six\n", "ten\n"}, "two\n|six\n|ten\n"},
	} {
		if got := strings.Join(logged(t, filepath.Join(t.TempDir(), "log"), tt.r, tt.pieces...), "|"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRotationLosesNothing writes lines in pieces of random size, by several successive writers of
// the log.
func TestRotationLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var all strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&all, "line %d %s\n", i, strings.Repeat("x", rand.IntN(60)))
	}
	r := place.Rotation{MaxSize: 500, Keep: 1000}
	for rest := all.String(); rest != ""; {
		pieces := make([]string, 0, 20)
		for len(pieces) < cap(pieces) && rest != "" {
			n := min(1+rand.IntN(200), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		logged(t, path, r, pieces...)
	}
	texts := files(t, path)
	if got := strings.Join(texts, ""); got != all.String() {
		t.Errorf("%d bytes of %d in %d files", len(got), all.Len(), len(texts))
	}
	for i, text := range texts {
		if len(text) > 2*int(r.MaxSize) {
			t.Errorf("file %d has %d bytes", i, len(text))
		}
	}
}

// TestRotationAfterACrash has a gap among former logs: older ones must not move.
func TestRotationAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for name, text := range map[string]string{path: "new\n", path + ".2": "old\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(logged(t, path, place.Rotation{MaxSize: 4, Keep: 2}, "now\n"), "|"); got != "old\n|new\n|now\n" {
		t.Errorf("got %q", got)
	}
	if logged(t, path, place.Rotation{MaxSize: 4, Keep: 1}, "end\n"); len(glob(t, path)) != 2 {
		t.Errorf("got %q", glob(t, path))
	}
}

// TestRotationFails checks that the log continues in its current file.
func TestRotationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.MkdirAll(path+".1/full", 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := place.OpenRotated(path, os.Getuid(), os.Getgid(), place.Rotation{MaxSize: 4, Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n, err := l.Write([]byte("one\ntwo\nsix\n")); n != 12 || err == nil {
		t.Errorf("got %d, %v", n, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one\ntwo\nsix\n" {
		t.Errorf("got %q, %v", b, err)
	}
}
