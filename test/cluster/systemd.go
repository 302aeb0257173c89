package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bproc/test/limit"
)

// A machine that systemd runs has it as PID 1 instead of this binary: systemd has the machine's
// namespaces and control groups, but only our units.
//
//	test process                  PID 1: this binary          PID 1: systemd
//	machineSetup   ------------>   makes the machine
//	               <------------ machineReply
//	                               execve  ------------------>  makes its groups, starts
//	               <------------------------------------------- READY=1
//	thread enters
//
// The thread's commands have a control group of their own in each hierarchy, which systemd does not
// know: it empties the top groups when it starts.

// systemdPaths are the program's paths in distributions.
var systemdPaths = []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd"}

// bootTimeout is how long systemd may take to start nearly nothing.
const bootTimeout = 5 * time.Minute

// UnitDir has the units that tests give to systemd in a machine.
const UnitDir = "/run/units"

// systemdDirs are the directories for units that administrators enable, and for units of packages. The units of
// the host are not visible there.
var systemdDirs = []string{"/etc/systemd/system", "/usr/lib/systemd/system"}

// unitPath also has the directories in which systemd puts units at run time.
var unitPath = append([]string{"/run/systemd/system.control", "/run/systemd/transient", UnitDir}, systemdDirs...)

// baseUnits are the units that systemd and the units of bproc need.
var baseUnits = map[string]string{
	"default.target":        "[Unit]\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n",
	"basic.target":          "[Unit]\nRequires=sysinit.target dbus.socket\nAfter=sysinit.target dbus.socket\n",
	"sysinit.target":        "[Unit]\n",
	"sockets.target":        "[Unit]\n",
	"multi-user.target":     "[Unit]\nRequires=basic.target\n",
	"network.target":        "[Unit]\n",
	"network-online.target": "[Unit]\n",
	"shutdown.target":       "[Unit]\nDefaultDependencies=no\n",
	"dbus.socket":           "[Socket]\nListenStream=/run/dbus/system_bus_socket\n",
	"dbus.service": "[Unit]\nRequires=dbus.socket\n[Service]\nType=notify\nNotifyAccess=main\n" +
		"ExecStart=/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile --systemd-activation\n",
}

// systemdConfig is system.conf: there is no journal.
const systemdConfig = "[Manager]\nDefaultStandardOutput=null\nDefaultStandardError=inherit\n"

// findSystemd returns the path of the program.
func findSystemd() (string, error) {
	for _, path := range systemdPaths {
		if unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("none of %v is there (package systemd)", systemdPaths)
}

// bootSystemd makes PID 1 make the machine and become systemd, and waits for that.
func (r *run) bootSystemd(m *Machine, setup machineSetup) (err error) {
	if setup.Systemd, err = findSystemd(); err != nil {
		return err
	}
	notify, err := listenNotify(m.dir)
	if err != nil {
		return err
	}
	defer notify.close()
	if r.console, err = newConsole(filepath.Join(m.logDir(), "console.log")); err != nil {
		return err
	}
	setup.Notify, setup.Console = notify.path, r.console.path
	if err := r.boot(m, setup); err != nil {
		return err
	}
	timeout := limit.Scaled(bootTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("not within %v", timeout))
	defer cancel()
	if err := notify.wait(ctx, nil); err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	for _, h := range m.cluster.site.groups {
		if err := m.cluster.site.makeGroup(h, filepath.Join(m.group, leafGroup)); err != nil {
			return err
		}
	}
	return nil
}

// prepareSystemd writes systemd's files in the machine, and gives it a console: it must not write
// to the host's.
func prepareSystemd(console string) error {
	for _, dir := range systemdDirs {
		if err := mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return err
		}
	}
	for name, text := range baseUnits {
		if err := writeFile(filepath.Join(systemdDirs[1], name), text); err != nil {
			return err
		}
	}
	if err := writeFile("/etc/systemd/system.conf", systemdConfig); err != nil {
		return err
	}
	return mount(console, "/dev/console", "", unix.MS_BIND, "")
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// execSystemd executes systemd in this process. It returns only if that fails.
func execSystemd(program, notify string) error {
	return unix.Exec(program, []string{"/sbin/init", "--system", "--show-status=no", "--log-target=console", "--crash-shell=no"}, []string{
		"container=bproctest",
		"PATH=" + strings.Join(commandPath, ":"),
		"SYSTEMD_UNIT_PATH=" + strings.Join(unitPath, ":"),
		"SYSTEMD_GENERATOR_PATH=",
		"NOTIFY_SOCKET=" + notify,
	})
}

// InstallUnits writes units of the source tree into a machine that systemd runs, as "make install"
// does. The standard error of their programs goes to files that are shown when the test fails.
func (m *Machine) InstallUnits(ctx context.Context, names ...string) error {
	module, err := moduleDir()
	if err != nil {
		return err
	}
	for _, name := range names {
		unit, err := os.ReadFile(filepath.Join(module, "cmd", name, name+".service"))
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(unit), "/usr/local", Prefix)
		log := filepath.Join(m.logDir(), name+".log")
		err = errors.Join(
			m.WriteFile(filepath.Join(UnitDir, name+".service"), text, 0o644),
			m.WriteFile(filepath.Join(UnitDir, name+".service.d/log.conf"), "[Service]\nStandardError=append:"+log+"\n", 0o644),
		)
		if err != nil {
			return err
		}
	}
	return m.Systemctl(ctx, "daemon-reload")
}

// Systemctl runs systemctl in the machine, which must succeed.
func (m *Machine) Systemctl(ctx context.Context, args ...string) error {
	res, err := m.Exec(ctx, Root, append([]string{"systemctl"}, args...)...)
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("%s: systemctl %s: exit code %d: %s%s", m.Name, strings.Join(args, " "), res.Code, res.Stderr, m.unitWords(ctx))
	}
	return err
}

// unitWords describes the units that have failed.
func (m *Machine) unitWords(ctx context.Context) string {
	res, err := m.Exec(ctx, Root, "systemctl", "--no-pager", "--all", "--failed", "--lines=0", "status")
	if err != nil {
		return ""
	}
	return res.Stdout
}

// startUnits starts a cluster by its units: the nodes join with tokens in files. Without slaves it
// installs everything and starts nothing.
func (c *Cluster) startUnits(ctx context.Context) error {
	if c.config.NoSlaves {
		for _, n := range c.Nodes {
			if err := n.InstallUnits(ctx, "bpslave"); err != nil {
				return err
			}
		}
		return c.Front.InstallUnits(ctx, "bpmaster", "bpprocfs")
	}
	if err := c.Front.InstallUnits(ctx, "bpmaster", "bpprocfs"); err != nil {
		return err
	}
	if err := c.Front.Systemctl(ctx, "start", "bpmaster", "bpprocfs"); err != nil {
		return err
	}
	for i, n := range c.Nodes {
		token, err := c.Enroll(ctx, i)
		if err != nil {
			return err
		}
		err = errors.Join(
			n.InstallUnits(ctx, "bpslave"),
			n.WriteFile("/etc/bproc/slave", "MASTER=front\n", 0o644),
			n.WriteFile("/etc/bproc/token", token+"\n", 0o600),
		)
		if err != nil {
			return err
		}
		if err := n.Systemctl(ctx, "start", "bpslave"); err != nil {
			return err
		}
	}
	return c.WaitUp(ctx, c.NodeIDs()...)
}

// signalByCommand sends a signal on a machine whose PID 1 takes no requests.
func (m *Machine) signalByCommand(k killRequest) error {
	if k.Queue {
		return fmt.Errorf("%s: sigqueue: %w", m.Name, errors.ErrUnsupported)
	}
	res, err := m.Exec(context.Background(), Root, "kill", fmt.Sprint("-", k.Signal), strconv.Itoa(k.PID))
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("%s: kill %d: %w: %s", m.Name, k.PID, unix.ESRCH, res.Stderr) // root may signal all others
	}
	return err
}
