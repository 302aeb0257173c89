package place_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// duplicate returns the same open file with another descriptor.
func duplicate(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// TestInherit passes the lock of a supervisor on: it is held until the last one who has it is gone.
func TestInherit(t *testing.T) {
	p := process(t)
	lock, err := p.Supervise()
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := p.Inherit(other); err == nil {
		t.Error("another file was taken for the lock")
	}
	heir, err := p.Inherit(duplicate(t, lock.File()))
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	if alive, err := p.Supervised(); err != nil || !alive {
		t.Errorf("with an heir: got %v, %v", alive, err)
	}
	heir.Close()
	if alive, err := p.Supervised(); err != nil || alive {
		t.Errorf("without one: got %v, %v", alive, err)
	}
}
