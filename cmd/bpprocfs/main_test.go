package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bproc/internal/manpage"
	"bproc/internal/unitfile"
	"bproc/procfs"
)

// TestMain makes this binary bpprocfs, under the names with which that starts itself or is started.
func TestMain(m *testing.M) {
	if slices.Contains([]string{guardName, scoutName, "bpprocfs", "mount.fuse.bpprocfs"}, filepath.Base(os.Args[0])) {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestManPage(t *testing.T) {
	manpage.CheckCommand(t, "../../man/bpprocfs.8", command())
}

// TestUnit checks that systemd starts the daemon with options that it has, and that the daemon
// reports to systemd that it is ready.
func TestUnit(t *testing.T) {
	unitfile.Check(t, "bpprocfs.service", command())
}

// TestNoMountPoint checks that a view that cannot be mounted ends with the reason, whichever of its parts ends first.
func TestNoMountPoint(t *testing.T) {
	for range 50 {
		err := run(procfs.Config{Mountpoint: t.TempDir() + "/none"}, true, descriptors{ready: -1, life: -1}, slog.LevelError)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v", err)
		}
	}
}
