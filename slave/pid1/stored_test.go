package pid1

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// null opens descriptors that the table closes.
func null(t *testing.T, count int) []int {
	t.Helper()
	fds := make([]int, count)
	for i := range fds {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds[i] = fd
	}
	return fds
}

func TestStoredIsBounded(t *testing.T) {
	var s stored
	s.init(slog.New(slog.DiscardHandler))
	defer s.close()
	for _, c := range []struct {
		name  string
		put   string
		fds   int
		has   int // already
		names int // afterwards
	}{
		{"one", "a", 1, 0, 1},
		{"two in its place", "a", 2, 1, 1},
		{"another", "b", 1, 2, 2},
		{"no name", "", 1, 3, 2},
		{"name that is too long", strings.Repeat("n", maxStoredName+1), 1, 3, 2},
		{"none, which drops what there was", "a", 0, 3, 1},
		{"as many as there can be", "a", 1, maxStored - 1, 2},
		{"too many", "c", 1, maxStored, 2},
	} {
		s.count = c.has
		fds := null(t, c.fds)
		s.put(c.put, fds)
		if got := s.names(); got != c.names {
			t.Errorf("%s: %d names, want %d", c.name, got, c.names)
		}
		for _, fd := range fds {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
				t.Errorf("%s: descriptor %d is left where it came: %v", c.name, fd, err)
			}
		}
	}
	kept := s.table["b"][0]
	if kept < storedFrom {
		t.Errorf("descriptor %d, want %d or above", kept, storedFrom)
	}
	s.drop("b")
	if _, err := unix.FcntlInt(uintptr(kept), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("dropped descriptor is open: %v", err)
	}
}
