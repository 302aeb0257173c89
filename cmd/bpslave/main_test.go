package main

import (
	"fmt"
	"strings"
	"testing"

	"bproc/internal/manpage"
	"bproc/internal/unitfile"
)

func TestManPage(t *testing.T) {
	manpage.CheckCommand(t, "../../man/bpslave.8", command())
}

// TestUnit checks that systemd starts the daemon with options that it has, and that the daemon
// reports to systemd that it is ready and alive.
func TestUnit(t *testing.T) {
	unit := unitfile.Check(t, "bpslave.service", command())
	if want := fmt.Sprintf("\nRestartPreventExitStatus=%d\n", statusToken); !strings.Contains(unit, want) {
		t.Errorf("there is no line %q", want)
	}
	if want := "\nOOMPolicy=continue\n"; !strings.Contains(unit, want) {
		t.Errorf("there is no line %q: when a helper is killed for want of memory, all processes of the node would end", want)
	}
}
