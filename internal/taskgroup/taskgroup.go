// Package taskgroup reads and sets the state of the pids controller in this machine's control
// groups: the group of a process, and the bound and number of tasks of a group
// (Documentation/admin-guide/cgroup-v1/pids.rst, cgroup-v2.rst). It supports versions 1 and 2.
// If both are mounted, it uses the one that has the controller.
package taskgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/probe"
	"bproc/internal/procstat"
)

// ErrNone is the error if no control group can bound tasks.
var ErrNone = errors.New("the pids controller is not mounted")

const controller = "pids"

// Tree is the hierarchy with the controller.
type Tree struct {
	dir     string // mount point
	unified bool   // version 2
}

// Open finds the hierarchy. It returns ErrNone if there is none.
func Open() (*Tree, error) {
	c, err := probe.Root("").Cgroups()
	switch {
	case err != nil:
		return nil, fmt.Errorf("control groups: %w", err)
	case c.V1[controller] != "":
		return &Tree{dir: c.V1[controller]}, nil
	case slices.Contains(c.Controllers, controller):
		return &Tree{dir: c.Unified, unified: true}, nil
	}
	return nil, ErrNone
}

// Dir returns the mount point of the hierarchy.
func (t *Tree) Dir() string { return t.dir }

// Of returns the control group of a process, in the form of proc_pid_cgroup(5).
func (t *Tree) Of(pid int) (string, error) {
	file := fmt.Sprintf("/proc/%d/cgroup", pid)
	text, err := procstat.ReadFile(file, procstat.Whole)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		if t.unified && fields[0] == "0" || !t.unified && slices.Contains(strings.Split(fields[1], ","), controller) {
			return fields[2], nil
		}
	}
	return "", fmt.Errorf("%s: %w", file, ErrNone)
}

// Group is a control group that bounds the number of tasks in itself and its descendants.
type Group struct {
	Path string
	ID   uint64 // unique while the group exists
	Max  uint64
	Now  uint64
}

// Bounds returns the groups that bound the tasks of a control group, the innermost first. It leaves
// out groups that are not visible in this control group namespace.
func (t *Tree) Bounds(path string) (all []Group, err error) {
	for path = filepath.Clean("/" + path); path != "/"; path = filepath.Dir(path) {
		g, bounded, err := t.Look(path)
		switch {
		case errors.Is(err, os.ErrNotExist): // removed or not visible
		case err != nil:
			return nil, err
		case bounded:
			all = append(all, g)
		}
	}
	return all, nil
}

// Look returns the current state of a control group, and whether it bounds tasks.
func (t *Tree) Look(path string) (g Group, bounded bool, err error) {
	dir := filepath.Join(t.dir, path)
	g = Group{Path: path}
	if g.Max, err = number(dir, "pids.max"); err != nil || g.Max == math.MaxUint64 {
		return g, false, err
	}
	if g.Now, err = number(dir, "pids.current"); err != nil {
		return g, false, err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return g, false, err
	}
	g.ID = st.Ino
	return g, true, nil
}

// Enter moves a process to a control group, and makes the group if it is missing.
func (t *Tree) Enter(pid int, path string) error {
	dir := filepath.Join(t.dir, path)
	file := filepath.Join(dir, "cgroup.procs")
	text := []byte(strconv.Itoa(pid))
	err := write(file, text)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o755); err == nil {
			err = write(file, text)
		}
	}
	return err
}

func write(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(text)
	return err
}

// number reads a file that contains a number or "max".
func number(dir, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, err
	}
	word := strings.TrimSpace(string(text))
	if word == "max" {
		return math.MaxUint64, nil
	}
	return strconv.ParseUint(word, 10, 64)
}
