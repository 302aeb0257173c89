package jail

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/internal/ownthread"
)

// TestRemount makes mounts read-only whose path leads through a symbolic link.
func TestRemount(t *testing.T) {
	for _, below := range []bool{false, true} {
		base := t.TempDir()
		if err := os.MkdirAll(filepath.Join(base, "real/root"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real", filepath.Join(base, "link")); err != nil {
			t.Fatal(err)
		}
		if err := ownthread.Do(func() error {
			if err := isolate(); err != nil {
				return err
			}
			at := filepath.Join(base, "link/root")
			remountPath := func() error {
				fd, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				return remount(fd, below, readOnly)
			}
			if remountPath() == nil {
				t.Errorf("below %v: success where nothing is mounted", below)
			}
			if err := unix.Mount("job", at, "tmpfs", 0, ""); err != nil {
				return err
			}
			if err := remountPath(); err != nil {
				return err
			}
			if err := os.Mkdir(filepath.Join(at, "new"), 0o755); !errors.Is(err, unix.EROFS) {
				t.Errorf("below %v: written: %v", below, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
