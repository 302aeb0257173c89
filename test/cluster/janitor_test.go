package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPIDMaxPutBack ends the clusters of two processes one after the other.
func TestPIDMaxPutBack(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pid_max")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when, text string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%s: got %q, %v, want %q", when, got, err, text)
		}
	}
	one := janitorWork{Dir: filepath.Join(dir, "bproctest-1-a"), PIDMax: "32768"}
	other := janitorWork{Dir: filepath.Join(dir, "bproctest-2-b"), PIDMax: "32768"}
	for _, w := range []janitorWork{one, other} {
		if err := os.Mkdir(w.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("4194304\n")
	if err := one.putBack(file); err != nil {
		t.Error(err)
	}
	want("the other one has clusters", "4194304\n")
	if err := os.Remove(one.Dir); err != nil {
		t.Fatal(err)
	}
	if err := other.putBack(file); err != nil {
		t.Error(err)
	}
	want("it was the last", "32768")
}
