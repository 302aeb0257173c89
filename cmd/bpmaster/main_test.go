package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bproc/internal/manpage"
	"bproc/internal/unitfile"
)

func TestManPage(t *testing.T) {
	manpage.CheckCommand(t, "../../man/bpmaster.8", command())
}

// TestUnit checks that systemd starts the daemon with options that it has, and that the daemon
// reports to systemd that it is ready and alive.
func TestUnit(t *testing.T) {
	unit := unitfile.Check(t, "bpmaster.service", command())
	page, err := os.ReadFile("../../man/bpmaster.8")
	if err != nil || !strings.Contains(string(page), "\n"+unit) {
		t.Errorf("the manual page has another unit: %v", err)
	}
}

// TestConfigurationIsGone: a configuration that was read once must be there when it is read again.
func TestConfigurationIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	given := map[string]bool{}
	f := flags{file: path, changed: func(name string) bool { return given[name] }}
	if _, err := f.load(); err != nil {
		t.Errorf("none: %v", err)
	}
	if err := os.WriteFile(path, []byte("lease 60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := f.load(); err != nil || cfg.Lease != time.Minute {
		t.Errorf("written: got %v, %v", cfg.Lease, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.loadChecked(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: got %v", err)
	}
}
