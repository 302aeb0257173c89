package probe

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cgroups has the mount points of control groups (cgroups(7)).
type Cgroups struct {
	Unified     string            // mount point of version 2; empty if not mounted
	Controllers []string          // controllers of version 2 at its root
	V1          map[string]string // mount point of each controller of version 1
}

// Layout names the mounted versions: "version 2", "version 1", "hybrid" or "none".
func (c *Cgroups) Layout() string {
	switch {
	case c.pure():
		return "version 2"
	case len(c.V1) == 0:
		return "none"
	case c.Unified != "":
		return "hybrid"
	}
	return "version 1"
}

// cgroupTop is the conventional mount point of control groups.
const cgroupTop = "/sys/fs/cgroup"

// pure reports whether process spaces use version 2: when it is mounted on the conventional mount
// point of all versions, as package cgroups decides.
func (c *Cgroups) pure() bool { return c.Unified == cgroupTop }

// Cgroups reads the mounted hierarchies.
func (r Root) Cgroups() (*Cgroups, error) {
	f, err := os.Open(r.Path("/proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Cgroups{V1: map[string]string{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		mount, fs := strings.Fields(before), strings.Fields(after)
		if len(mount) < 6 || len(fs) < 3 || !strings.HasPrefix(fs[0], "cgroup") || !r.visible(mount[4]) {
			continue
		}
		switch at := mount[4]; fs[0] {
		case "cgroup2":
			if c.Unified == "" || at == cgroupTop {
				c.Unified = at
			}
		case "cgroup":
			for option := range strings.SplitSeq(fs[2], ",") {
				c.V1[option] = at // also "rw", which is not a controller
			}
		}
	}
	delete(c.V1, "rw")
	if c.Unified != "" {
		text, err := r.Text(filepath.Join(c.Unified, "cgroup.controllers"))
		if err != nil {
			return nil, err
		}
		c.Controllers = strings.Fields(text)
	}
	return c, nil
}

// visible reports whether the control groups of a mount can be seen: a later mount may hide them.
func (r Root) visible(at string) bool {
	_, err := os.Stat(r.Path(filepath.Join(at, "cgroup.procs")))
	return err == nil
}

// Freezer checks for a freezer. Version 2 has one since Linux 5.2.
func (r Root) Freezer() error {
	return r.controller("freezer", true, "CONFIG_CGROUP_FREEZER")
}

// Pids checks for the controller that bounds the number of tasks.
func (r Root) Pids() error {
	return r.controller("pids", false, "CONFIG_CGROUP_PIDS")
}

// controller checks for a controller in the version that process spaces use: version 2 if it is
// mounted on /sys/fs/cgroup, otherwise version 1. core means that version 2 always has it.
func (r Root) controller(name string, core bool, option string) error {
	c, err := r.Cgroups()
	if err != nil {
		return fmt.Errorf("control groups (CONFIG_CGROUPS): %w", err)
	}
	switch {
	case c.Layout() == "none":
		return errors.New("no control groups are mounted on " + cgroupTop)
	case c.pure() && (core || slices.Contains(c.Controllers, name)):
		return nil
	case c.pure():
		return fmt.Errorf("control groups of version 2 have no controller %s (%s)", name, option)
	case c.V1[name] == "":
		return fmt.Errorf("the control group controller %s is not mounted (%s)", name, option)
	}
	return nil
}
