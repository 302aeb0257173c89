package master

import (
	"os"
	"os/exec"
	"testing"

	"bproc/wire"
)

func TestParentOf(t *testing.T) {
	parent, err := parentOf(wire.PID(os.Getpid()))
	if err != nil || parent != wire.PID(os.Getppid()) {
		t.Errorf("got %d, %v, want %d", parent, err, os.Getppid())
	}
	if _, err := parentOf(-1); err == nil {
		t.Error("a process that cannot be has a parent")
	}
}

// TestParentOfOddName asks about a process whose name looks like the fields
// that follow it in its stat.
func TestParentOfOddName(t *testing.T) {
	path := t.TempDir() + "/a) R 1 (b"
	if err := os.Symlink("/bin/sleep", path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	parent, err := parentOf(wire.PID(cmd.Process.Pid))
	if err != nil || parent != wire.PID(os.Getpid()) {
		t.Errorf("got %d, %v, want %d", parent, err, os.Getpid())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}
