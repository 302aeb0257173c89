package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A privileged process may make further groups below that of its job, and put processes there.

// How long processes may take to end after SIGKILL, and the interval of checks.
const (
	killTimeout = 20 * time.Second
	killLook    = 2 * time.Millisecond
)

// remove kills the processes of the group and those below it, and removes it, if it exists.
func (g *group) remove() error {
	for deadline := time.Now().Add(killTimeout); ; time.Sleep(killLook) {
		var left error
		for _, dir := range g.dirs() {
			for _, below := range subtree(dir) {
				if err := unix.Rmdir(below); err != nil && !errors.Is(err, unix.ENOENT) {
					left = fmt.Errorf("remove the control group %s of the job: %w", below, err)
				}
			}
		}
		switch {
		case left == nil:
			return nil
		case !errors.Is(left, unix.EBUSY), time.Now().After(deadline):
			return left
		}
		for _, dir := range g.dirs() {
			if err := halt(dir); err != nil {
				return err
			}
			if err := kill(dir, unix.SIGKILL); err != nil {
				return err
			}
		}
	}
}

// mostGroups bounds the groups below one that are looked at in one go.
const mostGroups = 10_000

// subtree returns a group and those below it, the deepest first.
func subtree(top string) []string {
	var all []string
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir(): // it may just have been removed
			return nil
		case len(all) >= mostGroups:
			return fs.SkipAll
		}
		all = append(all, path)
		return nil
	})
	slices.Reverse(all)
	return all
}

// halt prevents further forks in a group.
func halt(dir string) error {
	err := write(dir, "pids.max", "0")
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) { // absent in the memory hierarchy of version 1
		return fmt.Errorf("stop forks of the job: %w", err)
	}
	return nil
}

// kill sends a signal to all processes of a group and those below it, if it exists.
func kill(top string, sig unix.Signal) error {
	if sig == unix.SIGKILL {
		_ = write(top, "cgroup.kill", "1") // Linux 5.14, version 2
	}
	for _, dir := range subtree(top) {
		if err := killIn(dir, sig); err != nil {
			return err
		}
	}
	return nil
}

// killIn sends a signal to the processes in a group. The processes of a threaded group are in one
// above it (cgroup-v2.rst of the kernel).
func killIn(dir string, sig unix.Signal) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP):
		return nil
	case err != nil:
		return fmt.Errorf("processes of the job: %w", err)
	}
	for _, line := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(line)
		if err != nil || pid <= 1 { // 0: the process is in a PID namespace outside of the job's
			continue
		}
		if err := unix.Kill(pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("signal %d of the job: %w", pid, err)
		}
	}
	return nil
}
