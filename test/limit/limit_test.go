package limit

import (
	"flag"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLower(t *testing.T) {
	for _, tc := range []struct {
		name, value, want string
	}{
		{"none", "0s", "1m0s"},
		{"a later one", "20m0s", "1m0s"},
		{"an earlier one", "30s", "30s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var flags flag.FlagSet
			flags.Duration("test.timeout", 0, "")
			f := flags.Lookup("test.timeout")
			if err := f.Value.Set(tc.value); err != nil {
				t.Fatal(err)
			}
			if err := lower(f, time.Minute); err != nil || f.Value.String() != tc.want {
				t.Errorf("got %v, %v, want %v", f.Value, err, tc.want)
			}
		})
	}
}

// TestRun runs a command that hangs in its child.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(exec.Command("true"), &out, time.Minute); err != nil || out.Len() > 0 {
		t.Errorf("true: got %v and %q", err, &out)
	}
	cmd := exec.Command("sh", "-c", "sleep 1000 & wait")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }() // its child
	err := run(cmd, &out, time.Second)
	if err == nil || err.Error() != "signal: killed" {
		t.Errorf("got %v, want it killed", err)
	}
	for _, want := range []string{"do not end after 1s", "Name=sh", "Name=sleep", "nanosleep"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, &out)
		}
	}
}
