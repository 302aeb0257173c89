package space

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"github.com/moby/sys/capability"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/systemd"
	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"

	"bproc/slave/pid1/supervise"
	"bproc/wire"
)

// Config describes a space.
type Config struct {
	Dir  string // state at run time, removed by Destroy: /run/bproc/slave-NAME
	Root string // what the processes see as "/"; "/" is the node's
	Init string // the program bpinit
	Name string // of the space: letters, digits, '_', '.', '-'
	Log  *slog.Logger

	// View is a directory, the same here and in the space: what is mounted on it here appears
	// there. It is for the view of the whole cluster, with the real procfs below it. Processes that
	// ask for it (wire.Command) see it as /proc. Empty: there is none.
	View string

	// Home are process numbers that no process outside of the space ever has; a Count of 0: there
	// are none. A living space with another home is ended.
	Home wire.Block

	// Daemon carries out what system calls of the processes need; nil: calls that need the front
	// end wait forever.
	Daemon supervise.Daemon

	// OnLaunched is called, as OnStatus is, when a launch of a former daemon is over: for each of
	// Starting, and until Forget for those that failed.
	OnLaunched func(wire.PID, wire.Stage, unix.Errno)

	// OnStatus is called when a launched process ended, was stopped or goes on. It is called from
	// the goroutine of Run, and so never at the same time as another callback. It must not block.
	OnStatus func(*wire.InitStatus)
}

// cgroupParent is the cgroup, or with systemd the slice, that contains all spaces of a node.
const cgroupParent = "bproc"

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

func (c *Config) check() error {
	switch {
	case !nameForm.MatchString(c.Name):
		return fmt.Errorf("name of space %q: letters, digits, '_', '.' and '-' only", c.Name)
	case !filepath.IsAbs(c.Dir) || !filepath.IsAbs(c.Root) || !filepath.IsAbs(c.Init):
		return errors.New("paths of a space must be absolute")
	case c.Log == nil || c.OnStatus == nil || c.OnLaunched == nil:
		return errors.New("a space needs a logger, OnStatus and OnLaunched")
	}
	return nil
}

// Files in Dir.
func (c *Config) socket() string   { return filepath.Join(c.Dir, "init.sock") }
func (c *Config) log() string      { return filepath.Join(c.Dir, "init.log") }
func (c *Config) rootfs() string   { return filepath.Join(c.Dir, "root") }
func (c *Config) stateDir() string { return filepath.Join(c.Dir, "container") }

// container returns the configuration of the space for libcontainer.
func (c *Config) container() (*configs.Config, error) {
	caps, err := ownCapabilities()
	if err != nil {
		return nil, err
	}
	group, err := c.cgroup()
	if err != nil {
		return nil, err
	}
	const inert = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	mounts := []*configs.Mount{
		{Source: "proc", Destination: "/proc", Device: "proc", Flags: inert},
		// Bound, not made by libcontainer, which would rewrite the links in the node's real /dev.
		{Source: "/dev", Destination: "/dev", Device: "bind", Flags: unix.MS_BIND | unix.MS_REC},
	}
	if c.Root != "/" {
		mounts = append(mounts, &configs.Mount{Source: "/sys", Destination: "/sys", Device: "bind", Flags: unix.MS_BIND | unix.MS_REC})
	}
	mounts = append(mounts, c.viewMounts()...)
	return &configs.Config{
		Rootfs:          c.rootfs(),
		RootPropagation: unix.MS_SLAVE | unix.MS_REC, // what the node mounts later appears
		Namespaces:      configs.Namespaces{{Type: configs.NEWPID}, {Type: configs.NEWNS}},
		Mounts:          mounts,
		Cgroups:         group,
		NoNewKeyring:    true,
		Labels:          []string{c.homeLabel()},
		Capabilities:    &configs.Capabilities{Bounding: caps, Permitted: caps, Effective: caps},
	}, nil
}

// cgroup returns the space's cgroup. Where systemd runs it owns the tree, and a scope of its own
// keeps the space alive when the daemon's service ends.
//
// Other containers on this machine may share the tree, with slaves of the same name: no other space
// has Dir's file system and inode. Dir must exist.
func (c *Config) cgroup() (*cgroups.Cgroup, error) {
	var dir unix.Stat_t
	if err := unix.Stat(c.Dir, &dir); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Dir, err)
	}
	name := fmt.Sprintf("%s-%x-%x", c.Name, dir.Dev, dir.Ino)
	// No rules for devices: package cgroups sets none in a program that does not import its package
	// devices, and the rules of the node hold.
	g := &cgroups.Cgroup{Resources: &cgroups.Resources{}}
	if systemd.IsRunningSystemd() {
		g.Systemd, g.SystemdProps = true, scopeProperties()
		g.Parent, g.ScopePrefix, g.Name = cgroupParent+".slice", cgroupParent, name
		return g, nil
	}
	g.Path = "/" + cgroupParent + "/" + name
	return g, nil
}

// scopeProperties are the properties of the scope besides libcontainer's, which delegate what is
// below the scope. Tasks are bounded below it: systemd's default (DefaultTasksMax= of
// systemd-system.conf(5)) would stop a node at some thousands.
func scopeProperties() []dbus.Property {
	return []dbus.Property{
		{Name: "TasksMax", Value: godbus.MakeVariant(uint64(math.MaxUint64))},  // infinity
		{Name: "CollectMode", Value: godbus.MakeVariant("inactive-or-failed")}, // no failed scope stays behind
	}
}

// homeLabel returns the node's home for the next daemon, in the form of libcontainer's labels.
func (c *Config) homeLabel() string {
	return fmt.Sprintf("bproc.home=%d-%d", c.Home.First, c.Home.End())
}

// ownCapabilities returns the names of all capabilities of this process.
func ownCapabilities() ([]string, error) {
	own, err := capability.NewPid2(0)
	if err == nil {
		err = own.Load()
	}
	if err != nil {
		return nil, fmt.Errorf("own capabilities: %w", err)
	}
	var names []string
	for _, c := range capability.ListKnown() {
		if own.Get(capability.PERMITTED, c) {
			names = append(names, "CAP_"+strings.ToUpper(c.String()))
		}
	}
	return names, nil
}
