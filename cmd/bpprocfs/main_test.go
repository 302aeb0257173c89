package main

import (
	"testing"

	"bproc/internal/manpage"
	"bproc/internal/unitfile"
)

func TestManPage(t *testing.T) {
	manpage.CheckCommand(t, "../../man/bpprocfs.8", command())
}

// TestUnit: systemd starts the daemon with options that it has, and is told when it is
// ready.
func TestUnit(t *testing.T) {
	unitfile.Check(t, "bpprocfs.service", command())
}
