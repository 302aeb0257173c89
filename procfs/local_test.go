package procfs

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNamesThatAreNotThere looks for names that a process does not have, and for one of a process
// that has ended. The kernel caches only the absence of the first: the directory may soon be
// another process's.
func TestNamesThatAreNotThere(t *testing.T) {
	m := mount(t)
	pids := ghosts(t, 2)
	for _, c := range []struct {
		what, path, name string
		ended            bool
		keep             time.Duration
		errno            unix.Errno
	}{
		{"a name", pids[0].String(), "ctty", false, forEver, 0},
		{"a thread's name", pids[0].String() + "/task/" + pids[0].String(), "ctty", false, forEver, 0},
		{"a thread", pids[0].String() + "/task", "1", false, 0, unix.ENOENT},
		{"a name of one that has ended", pids[1].String(), "stat", true, 0, unix.ENOENT},
		{"a thread's name of one that has ended", pids[1].String() + "/task/" + pids[1].String(), "stat", true, 0, unix.ENOENT},
	} {
		if c.ended {
			_ = unix.Kill(int(pids[1]), unix.SIGKILL) // it may have ended
			_, _ = unix.Wait4(int(pids[1]), nil, 0, nil)
		}
		n, keep, errno := (&localDir{view: m.view, path: c.path}).find(2, c.name)
		if n != nil || keep != c.keep || errno != c.errno {
			t.Errorf("%s: got %v for %v, errno %d, want none for %v, errno %d", c.what, n, keep, errno, c.keep, c.errno)
		}
	}
}
