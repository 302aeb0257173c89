package procfs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"testing"

	"bproc/wire"
)

// TestViewOnANode shows a cluster on a node, where there are no ghosts: of the processes of the
// real procfs one is the cluster's, one is too young to be known, and all others are not the
// cluster's.
func TestViewOnANode(t *testing.T) {
	pids := ghosts(t, 3)
	own, young, hidden := pids[0], pids[1], pids[2]
	const far wire.PID = 4_000_000
	m := mount(t, func(cfg *Config) { cfg.Local = func(pid wire.PID) bool { return pid == young } })
	here := remote(own, 'S', 42)
	here.Here, here.Environ = true, nil
	m.show(remote(far, 'R', 42), here)

	names, _ := m.names()
	var numbers []wire.PID
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, wire.PID(n))
		}
	}
	slices.Sort(numbers)
	want := []wire.PID{own, young, far}
	if slices.Sort(want); !slices.Equal(numbers, want) {
		t.Errorf("processes %v, want %v", numbers, want)
	}
	for pid, want := range map[wire.PID]string{own: "worker\n", far: "worker\n", young: "sleep\n"} {
		if got := m.read(pid, "comm"); got != want {
			t.Errorf("comm of %d: got %q, want %q", pid, got, want)
		}
	}
	if _, err := os.Stat(m.file(hidden)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is none of the cluster: %v", err)
	}
	for _, name := range []string{"environ", "task/" + own.String() + "/environ", "limits"} {
		want, err := os.ReadFile("/proc/" + own.String() + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.read(own, name); got != string(want) {
			t.Errorf("%s of the process that is here: got %q, want %q", name, got, want)
		}
	}
	exe, err := os.Readlink("/proc/" + own.String() + "/exe")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.Readlink(m.file(own, "exe")); err != nil || got != exe {
		t.Errorf("exe of the process that is here: got %q, %v, want %q", got, err, exe)
	}
	gone := remote(far+1, 'S', 1)
	gone.Here = true
	m.show(gone)
	if _, err := os.Stat(m.file(far + 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that was here: %v", err)
	}
}
