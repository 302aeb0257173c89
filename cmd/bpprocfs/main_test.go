package main

import (
	"testing"

	"bproc/internal/manpage"
	"bproc/internal/unitfile"
)

func TestManPage(t *testing.T) {
	manpage.CheckCommand(t, "../../man/bpprocfs.8", command())
}

// TestUnit checks that systemd starts the daemon with options that it has, and that the daemon
// reports to systemd that it is ready.
func TestUnit(t *testing.T) {
	unitfile.Check(t, "bpprocfs.service", command())
}
