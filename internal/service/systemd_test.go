package service

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestUnitOf(t *testing.T) {
	for _, c := range []struct{ name, groups, want string }{
		{"version 2", "0::/system.slice/bpmaster.service\n", "bpmaster.service"},
		{"hybrid", "4:pids:/\n1:name=systemd:/system.slice/bpmaster.service\n0::/system.slice/bpmaster.service\n", "bpmaster.service"},
		{"a session", "0::/user.slice/user-0.slice/session-1.scope\n", ""},
		{"another hierarchy", "4:pids:/x.service\n0::/\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unitOf(c.groups); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestScopeOutlivesUnit checks the order of units: at shutdown it is the reverse of the order of
// starts.
func TestScopeOutlivesUnit(t *testing.T) {
	argv := scope("d", "x.service")
	if at := slices.Index(argv, "--property=Before=x.service"); at < 0 || at > slices.Index(argv, "--") {
		t.Errorf("got %q", argv)
	}
	if argv := scope("d", ""); slices.ContainsFunc(argv, func(arg string) bool { return arg == "--property=Before=" }) {
		t.Errorf("without a unit: got %q", argv)
	}
}

// TestStopping queries service managers in different states.
func TestStopping(t *testing.T) {
	for _, c := range []struct {
		state string
		want  bool
	}{{"stopping", true}, {"running", false}, {"degraded", false}, {"", false}} {
		t.Run(c.state, func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\n[ \"$*\" = is-system-running ] && echo '" + c.state + "'\n[ '" + c.state + "' = running ]\n"
			if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			if got := stopping(t.Context()); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
