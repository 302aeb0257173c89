package standin_test

import (
	"os"
	"path/filepath"
	"testing"

	"bproc/pidmap"
	"bproc/slave/pid1/standin"
	"bproc/wire"
)

// process makes the entries of one process in a directory that looks like /proc.
func process(t *testing.T, proc string, pid wire.PID, comm, exe string) {
	t.Helper()
	dir := filepath.Join(proc, pid.String())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "comm"), []byte(comm+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if exe == "" {
		return
	}
	if err := os.Symlink(exe, filepath.Join(dir, "exe")); err != nil {
		t.Fatal(err)
	}
}

func TestIs(t *testing.T) {
	proc := t.TempDir()
	for _, name := range []string{"bpinit", "other"} {
		if err := os.WriteFile(filepath.Join(proc, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	process(t, proc, 1, "bproc-init", "../bpinit")
	for _, c := range []struct {
		name, comm, exe string
		pid             wire.PID
		want            bool
	}{
		{"stand-in", standin.Name, "../bpinit", 70001, true},
		{"child of init before its execve", "bproc-init", "../bpinit", 70002, false},
		{"process that took the name", standin.Name, "../other", 70003, false},
		{"zombie", standin.Name, "", 70004, false},
		{"number of a node", standin.Name, "../bpinit", pidmap.Node, false},
	} {
		process(t, proc, c.pid, c.comm, c.exe)
		if got := standin.Is(proc, c.pid); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	for _, pid := range []wire.PID{-1, 0, 1, 70009} {
		if standin.Is(proc, pid) {
			t.Errorf("%d is said to be a stand-in", pid)
		}
	}
}
