package spec_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		m, err := spec.Sums(dir)
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
	if len(before) != 2 || !maps.Equal(before, sums()) {
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
	want, err := spec.Sums(files)
	if err != nil || len(want) != 1 {
		t.Fatalf("got %v, %v", want, err)
	}
	if got, err := spec.Sums(link); err != nil || !maps.Equal(got, want) {
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
	sums, err := spec.Sums(dir)
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
