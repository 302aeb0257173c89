package ghost

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// imageOf returns the image of a test's ghosts, which all users may execute. Each test has its own
// file: by it a keeper recognizes the ghosts of a former one, and not those of another test. None
// of them is left at the end of the test.
func imageOf(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("GHOST_TEST_DIR"), t.Name())
	path := filepath.Join(dir, "ghost")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock() // a child of another test would inherit the open image, and keep it busy (execve(2), ETXTBSY)
	err := Install(path)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endGhosts(t, path)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return path
}

// endGhosts ends the ghosts that a failed test has left, and reaps orphans as init, which the tests
// are: the next test may choose their numbers.
func endGhosts(t testing.TB, image string) {
	t.Helper()
	ended := map[wire.PID]bool{}
	eventually(t, "the ghosts that are left end", func() bool {
		for _, pid := range running(t, image) {
			ended[pid] = true
			_ = unix.Kill(int(pid), unix.SIGKILL) // it may have ended
		}
		for {
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil && err != unix.EINTR || pid == 0 {
				break
			}
		}
		for pid := range ended {
			if statField(t, pid, 0) == "gone" {
				delete(ended, pid)
			}
		}
		return len(ended) == 0
	})
}

// running returns the processes of an image that are not zombies.
func running(t testing.TB, image string) (pids []wire.PID) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && exe == image {
			pids = append(pids, wire.PID(pid))
		}
	}
	return pids
}
