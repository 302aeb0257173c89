package unitfile

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Check checks that the unit in file starts c with valid options and arguments, and that the daemon
// reports to systemd that it is ready and alive. It returns the unit.
func Check(t *testing.T, file string, c *cobra.Command) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unit := string(data)
	for _, line := range []string{"Type=notify", "WatchdogSec=30", "TimeoutStopSec="} {
		if !strings.Contains(unit, "\n"+line) {
			t.Errorf("%s: there is no line %s", file, line)
		}
	}
	_, start, _ := strings.Cut(unit, "\nExecStart=/usr/local/sbin/"+c.Name())
	start, _, found := strings.Cut(start, "\n")
	if !found {
		t.Fatalf("%s does not start %s", file, c.Name())
	}
	if err := c.ParseFlags(strings.Fields(start)); err != nil {
		t.Fatal(err)
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return unit
}
