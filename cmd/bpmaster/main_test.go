package main

import (
	"os"
	"strings"
	"testing"

	"bproc/internal/manpage"
)

func TestManPage(t *testing.T) {
	c := command()
	c.InitDefaultHelpFlag()
	manpage.CheckOptions(t, "../../man/bpmaster.8", c.UsageString())
}

// TestUnit: systemd starts the daemon with options that it has, and is told when it is
// ready and that it lives.
func TestUnit(t *testing.T) {
	data, err := os.ReadFile("bpmaster.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := string(data)
	page, err := os.ReadFile("../../man/bpmaster.8")
	if err != nil || !strings.Contains(string(page), "\n"+unit) {
		t.Errorf("the manual page has another unit: %v", err)
	}
	for _, line := range []string{"Type=notify", "WatchdogSec=30", "TimeoutStopSec="} {
		if !strings.Contains(unit, "\n"+line) {
			t.Errorf("there is no line %s", line)
		}
	}
	_, start, _ := strings.Cut(unit, "\nExecStart=/usr/local/sbin/bpmaster")
	start, _, found := strings.Cut(start, "\n")
	if !found {
		t.Fatal("bpmaster is not started")
	}
	c := command()
	if err := c.ParseFlags(strings.Fields(start)); err != nil {
		t.Fatal(err)
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Error(err)
	}
}
