package ghost

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// linger keeps the process of a keeper that has run until the test opens a pipe.
func linger(dir string) {
	_ = os.WriteFile(filepath.Join(dir, "ran"), nil, 0o600)
	_, _ = os.ReadFile(filepath.Join(dir, "end"))
}

// TestLockOutlivesRun checks that a keeper that was asked to end keeps its lock until its process has ended: its
// threads may hold ghosts for so long.
func TestLockOutlivesRun(t *testing.T) {
	dir := t.TempDir()
	end := filepath.Join(dir, "end")
	if err := unix.Mkfifo(end, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GHOST_TEST_LINGERS", dir)
	first := newFixture(t)
	pid := first.ghost(t, nobody, "runs")
	if err := first.keeper.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the keeper has run", func() bool { _, err := os.Stat(filepath.Join(dir, "ran")); return err == nil })
	lock, err := os.Open(first.socket + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("the lock of a process that has not ended: %v", err)
	}
	lock.Close()
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := first.keeper.Wait(); err != nil {
		t.Fatal(err)
	}
	first.keeper = nil
	t.Setenv("GHOST_TEST_LINGERS", "")
	next := keeperAt(t, first.socket)
	next.found(t, []wire.PID{pid}, 0)
	next.end(t, pid, 0)
}
