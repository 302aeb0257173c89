// Package taskgroup reads and sets what the pids controller knows of the control groups of
// this machine: which of them a process is in, how many tasks may be in each, and how many
// are (Documentation/admin-guide/cgroup-v1/pids.rst, cgroup-v2.rst). Version 1 and version 2
// are alike; where both are mounted it is the one that has the controller.
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

// ErrNone is the error where no control group bounds tasks.
var ErrNone = errors.New("the pids controller is not mounted")

const controller = "pids"

// Tree is the hierarchy that has the controller.
type Tree struct {
	dir     string // where it is mounted
	unified bool   // version 2
}

// Open finds the hierarchy. ErrNone: there is none.
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

// Dir returns where the hierarchy is mounted.
func (t *Tree) Dir() string { return t.dir }

// Of returns the control group of a process, as proc_pid_cgroup(5) has it.
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

// Group is a control group that bounds how many tasks are in it and in those below it.
type Group struct {
	Path string
	ID   uint64 // that no other has while it exists
	Max  uint64
	Now  uint64
}

// Bounds returns the groups that bound the tasks of a control group, the innermost first.
// Those that are not to be seen from this control group namespace are left out.
func (t *Tree) Bounds(path string) (all []Group, err error) {
	for path = filepath.Clean("/" + path); path != "/"; path = filepath.Dir(path) {
		g, bounded, err := t.Look(path)
		switch {
		case errors.Is(err, os.ErrNotExist): // it has gone, or is not to be seen
		case err != nil:
			return nil, err
		case bounded:
			all = append(all, g)
		}
	}
	return all, nil
}

// Look returns what holds for a control group now, and whether it bounds anything.
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

// Enter puts a process into a control group, which is made if there is none.
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

// number reads a file that has a number, or "max".
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
