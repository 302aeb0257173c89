package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bproc/internal/probe"
)

const cgroupTop = "/sys/fs/cgroup"

// cgroups checks that a process space can be frozen, and that its control group can be made.
func cgroups(_ context.Context, s *subject) Result {
	groups, err := s.Root.Cgroups()
	if err != nil {
		return failed(err, "mount procfs on /proc")
	}
	if err := s.Root.Freezer(); err != nil {
		return s.controllerMissing(err, groups, "CONFIG_CGROUP_FREEZER")
	}
	for _, dir := range mountPoints(groups) {
		if !s.root() {
			return needsRoot(groups.Layout() + "; whether groups can be made")
		}
		if err := s.Writable(s.Root.Path(dir)); err != nil {
			return fail(fmt.Sprintf("%s: no group can be made: %v", dir, err), "mount it read-write (a container needs its own, writable control groups)")
		}
	}
	if reason := s.cannotDelegate(groups); reason != "" {
		return warn(reason, "start bpslave by systemd, or move the processes in "+cgroupTop+" to a group below it: only then can controllers be enabled (cgroups(7), no internal processes)")
	}
	return ok("%s", groups.Layout())
}

// controllerMissing is lacking for a controller, which may only not be mounted.
func (s *subject) controllerMissing(err error, groups *probe.Cgroups, option string) Result {
	if s.option(option) == "n" {
		return s.lacking(err, option)
	}
	if groups.Layout() == "none" {
		return failed(err, "mount -t cgroup2 cgroup2 "+cgroupTop)
	}
	return failed(err, "mount the controller, or use control groups of version 2 (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)")
}

// mountPoints returns the mount points under which the group of a process space is made.
func mountPoints(c *probe.Cgroups) []string {
	if c.Layout() == "version 2" {
		return []string{c.Unified}
	}
	var dirs []string
	for _, name := range []string{"freezer", "pids"} {
		if dir := c.V1[name]; dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// cannotDelegate explains why the top group of version 2 cannot enable controllers for tasks for
// its children: it is not the real root, and has processes. It returns "" if it can.
func (s *subject) cannotDelegate(c *probe.Cgroups) string {
	if c.Layout() != "version 2" || s.managed() {
		return ""
	}
	text := func(file string) string {
		text, err := s.Root.Text(filepath.Join(cgroupTop, file))
		if err != nil {
			return ""
		}
		return text
	}
	realRoot := text("cgroup.type") == "" // only groups below the root have the file
	enabled := slices.Contains(strings.Fields(text("cgroup.subtree_control")), "pids")
	if realRoot || enabled || text("cgroup.procs") == "" {
		return ""
	}
	return "the top control group of this machine has processes of its own and gives no controllers to its children"
}

func pidsController(_ context.Context, s *subject) Result {
	if err := s.Root.Pids(); err != nil {
		r := s.controllerMissing(err, &probe.Cgroups{V1: map[string]string{"": ""}}, "CONFIG_CGROUP_PIDS")
		return warn("the number of processes on this node is not bounded: "+r.Found, r.Remedy)
	}
	return ok("bounds the number of processes")
}

// managed reports whether systemd runs the machine (sd_booted(3)).
func (s *subject) managed() bool {
	_, err := os.Lstat(s.Root.Path("/run/systemd/system"))
	return err == nil
}

// systemd checks that systemd can be asked for the scope of the process space.
func systemd(_ context.Context, s *subject) Result {
	if !s.managed() {
		return ok("this machine is not run by systemd")
	}
	if !s.root() {
		return needsRoot("whether systemd can be asked for a scope")
	}
	var errs []error
	for _, socket := range []string{"/run/dbus/system_bus_socket", "/run/systemd/private"} {
		err := s.Connect(s.Root.Path(socket))
		if err == nil {
			return ok("can be asked for a scope (%s)", socket)
		}
		errs = append(errs, err)
	}
	return failed(errors.Join(errs...), "install and start D-Bus: apt install dbus")
}

// few is a number of tasks that a busy machine of a cluster reaches.
const few = 32768

// tasks checks the bounds on the number of processes and threads. On the front end each remote
// process has a ghost, which counts against the bounds of the user who started it.
func tasks(_ context.Context, s *subject) Result {
	p := s.self()
	what := "processes of " + p.String()
	if s.side == Node {
		p = s.nearest()
		what = p.String()
	}
	group, limit, err := s.tightest(p)
	if err != nil {
		return skip("control group of %v: %v", p, err)
	}
	if limit < few {
		return warn(fmt.Sprintf("at most %d tasks for %s and all else in control group %s (pids.max)", limit, what, group),
			"raise TasksMax of that slice, scope or service: systemctl set-property UNIT TasksMax=infinity; for all users in /etc/systemd/system/user-.slice.d/")
	}
	if text, err := s.Root.Text("/proc/sys/kernel/threads-max"); err == nil {
		if most, err := strconv.Atoi(text); err == nil && most < few {
			return warn(fmt.Sprintf("the kernel makes at most %d tasks", most), fmt.Sprintf("set kernel.threads-max = %d in /etc/sysctl.d", 4*few))
		}
	}
	if group == "" {
		return ok("no control group bounds their number")
	}
	return ok("at most %d (%s)", limit, group)
}

// tightest returns the control group with the least pids.max among the group of a process and the
// groups above it. If none has a bound, it returns "" and the greatest number.
func (s *subject) tightest(p *process) (group string, limit uint64, err error) {
	limit = ^uint64(0)
	groups, err := s.Root.Cgroups()
	if err != nil {
		return "", 0, err
	}
	text, err := s.Root.Text(p.file("cgroup"))
	if err != nil {
		return "", 0, err
	}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		top := groups.Unified
		if fields[1] != "" {
			if !slices.Contains(strings.Split(fields[1], ","), "pids") {
				continue
			}
			top = groups.V1["pids"]
		}
		if top == "" {
			continue
		}
		for at := filepath.Clean("/" + fields[2]); ; at = filepath.Dir(at) {
			most, err := s.Root.Text(filepath.Join(top, at, "pids.max"))
			if n, bad := strconv.ParseUint(most, 10, 64); err == nil && bad == nil && n < limit {
				group, limit = at, n
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", 0, err
			}
			if at == "/" {
				break
			}
		}
	}
	return group, limit, nil
}
