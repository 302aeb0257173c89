package space

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bproc/test/limit"
	"golang.org/x/sys/unix"
)

// TestParentsStay has a space end while another is being made: the cgroup that contains both stays,
// and is removed with the last one.
func TestParentsStay(t *testing.T) {
	cfg := Config{Name: "test", Dir: t.TempDir()}
	if group, err := cfg.cgroup(); err != nil {
		t.Fatal(err)
	} else if group.Systemd {
		t.Log("systemd has the groups that hold spaces")
		return
	}
	parent := filepath.Join(t.TempDir(), "parent")
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := cfg.lockParents(unix.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	other, err := cfg.lockParents(unix.LOCK_SH)
	if err != nil {
		t.Fatalf("two are made at a time: %v", err)
	}
	other()
	cfg.removeParents([]string{parent})
	if _, err := os.Stat(parent); err != nil {
		t.Errorf("taken away from who needs it: %v", err)
	}
	unlock()
	for deadline := time.Now().Add(limit.Scaled(time.Minute)); ; time.Sleep(time.Millisecond) { // concurrent tests make spaces, too
		cfg.removeParents([]string{parent})
		if _, err := os.Stat(parent); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it is never taken away")
		}
	}
}
