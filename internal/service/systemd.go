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

// Scope returns a command that makes the service manager start another command, whose arguments
// follow, in a control group other than the daemon's (systemd-run(1)). Without a service manager it
// returns nil. At shutdown the other command ends after the daemon.
func Scope(description string) []string {
	if !booted() {
		return nil
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without it, the order at shutdown is undefined
	return scope(description, unitOf(string(groups)))
}

func scope(description, unit string) []string {
	argv := []string{"systemd-run", "--quiet", "--collect", "--scope", "--slice=system.slice", "--description=" + description}
	if unit != "" {
		argv = append(argv, "--property=Before="+unit)
	}
	return append(argv, "--")
}

// unitOf returns the service to which control groups (/proc/PID/cgroup, cgroups(7)) belong, or "".
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

// askTime bounds the service manager's time to answer.
const askTime = 2 * time.Second

// ShutsDown reports whether the machine is shutting down. Without a service manager it returns
// false.
func ShutsDown(ctx context.Context) bool { return booted() && stopping(ctx) }

func stopping(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	state, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output() // fails unless the state is running
	return strings.TrimSpace(string(state)) == "stopping"
}
