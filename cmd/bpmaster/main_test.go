package main

import (
	"os"
	"strings"
	"testing"

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
