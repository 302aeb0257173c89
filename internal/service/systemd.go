package service

import (
	"context"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"
)

// booted reports whether systemd is the service manager of this machine (sd_booted(3)).
func booted() bool {
	_, err := os.Lstat("/run/systemd/system")
	return err == nil
}

// Scope returns a command that has the service manager start another command, whose
// arguments follow, in a control group that is not the daemon's (systemd-run(1)); without
// a service manager nothing. At shutdown the other command ends after the daemon.
func Scope(description string) []string {
	if !booted() {
		return nil
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without, the order at shutdown is any
	return scope(description, unitOf(string(groups)))
}

func scope(description, unit string) []string {
	argv := []string{"systemd-run", "--quiet", "--collect", "--scope", "--slice=system.slice", "--description=" + description}
	if unit != "" {
		argv = append(argv, "--property=Before="+unit)
	}
	return append(argv, "--")
}

// unitOf returns the service that control groups (cgroups(7), /proc/PID/cgroup) are of, or
// nothing.
func unitOf(groups string) string {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "" && parts[1] != "name=systemd" {
			continue
		}
		if unit := path.Base(parts[2]); strings.HasSuffix(unit, ".service") {
			return unit
		}
	}
	return ""
}

// askTime is how long the service manager may take to answer.
const askTime = 2 * time.Second

// ShutsDown reports whether the machine is shutting down, as far as there is a service
// manager that says so.
func ShutsDown(ctx context.Context) bool { return booted() && stopping(ctx) }

func stopping(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	state, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output() // with an error, unless all is well
	return strings.TrimSpace(string(state)) == "stopping"
}
