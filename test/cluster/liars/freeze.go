package liars

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
)

// freezer describes how control groups of a version are frozen.
type freezer struct {
	top          string // of the hierarchy
	file         string // file to write to
	freeze, thaw string
	says, frozen string // file to read, and its text when frozen
}

// findFreezer prefers version 1, in which a frozen process does nothing until it is thawed.
func findFreezer() (freezer, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return freezer{}, err
	}
	found := freezer{}
	for _, m := range mounts {
		switch {
		case m.FSType == "cgroup" && strings.Contains(m.VFSOptions, "freezer"):
			return freezer{m.Mountpoint, "freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN"}, nil
		case m.FSType == "cgroup2":
			found = freezer{m.Mountpoint, "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"}
		}
	}
	if found.top == "" {
		err = errors.New("no control groups are mounted")
	}
	return found, err
}

// freeze freezes a ghost.
func (g *ghost) freeze() error {
	z, err := findFreezer()
	if err != nil {
		return err
	}
	dir := filepath.Join(z.top, fmt.Sprint("liar", g.pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	put := func(file, text string) error { return os.WriteFile(filepath.Join(dir, file), []byte(text), 0) }
	g.undo = append(g.undo, func() error { return put(z.file, z.thaw) }, func() error { return removeGroup(dir) })
	if err := errors.Join(put("cgroup.procs", strconv.Itoa(g.pid)), put(z.file, z.freeze)); err != nil {
		return err
	}
	return eventually("it is frozen", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, z.says))
		return err == nil && bytes.Contains(text, []byte(z.frozen))
	})
}

// removeGroup removes a control group after moving its processes away: a ghost that has got SIGKILL
// stays until its process has ended.
func removeGroup(dir string) error {
	return eventually("the control group is empty", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, pid := range bytes.Fields(text) {
			_ = os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.procs"), pid, 0) // or it has ended
		}
		return os.Remove(dir) == nil
	})
}

func eventually(what string, ok func() bool) error {
	const patience = 20 * time.Second
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("never: %s", what)
		}
	}
	return nil
}
