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

// TestUnit: systemd starts the daemon with options that it has, and is told when it is
// ready and that it lives.
func TestUnit(t *testing.T) {
	unit := unitfile.Check(t, "bpmaster.service", command())
	page, err := os.ReadFile("../../man/bpmaster.8")
	if err != nil || !strings.Contains(string(page), "\n"+unit) {
		t.Errorf("the manual page has another unit: %v", err)
	}
}
