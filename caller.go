package bproc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// command returns what the process starts with: what c says, and for the rest
// what a child of this program has.
func (c *Cmd) command(g *ghost) (wire.Command, error) {
	cmd := wire.Command{Argv: c.Args, Env: c.Env, Dir: c.Dir, View: c.View}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if cmd.Dir == "" {
		cmd.Dir = workingDir()
	}
	var err error
	if cmd.Umask, cmd.Ignored, err = procStatus(); err != nil {
		return cmd, err
	}
	// getpriority(2): the system call returns 20 minus the nice value.
	if prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		cmd.Nice = int8(20 - prio)
	}
	cmd.Limits, err = limits(g)
	return cmd, err
}

// workingDir returns the working directory as the kernel has it. os.Getwd would
// prefer $PWD, which need not be a path of the node. A directory that is outside
// of the root or removed is no use there (getcwd(2)).
func workingDir() string {
	dir, err := unix.Getwd()
	if err != nil || !strings.HasPrefix(dir, "/") {
		return "/"
	}
	return dir
}

// resources is the number of resource limits (RLIM_NLIMITS).
const resources = 16

// limits returns the resource limits of the ghost, which are those of a child.
// Our own are not: the Go runtime raises the soft limit of open files when it
// starts, and restores it in children.
func limits(g *ghost) ([]wire.Limit, error) {
	list := make([]wire.Limit, resources)
	for i := range list {
		var l unix.Rlimit
		if err := unix.Prlimit(g.pid, i, nil, &l); err != nil {
			return nil, fmt.Errorf("limits of ghost %d: %w", g.pid, err)
		}
		list[i] = wire.Limit{Resource: uint8(i), Soft: l.Cur, Hard: l.Max}
	}
	return list, nil
}

// procStatus returns umask and ignored signals of this process. umask(2) would
// change what it tells.
func procStatus() (umask uint32, ignored uint64, err error) {
	const path = "/proc/self/status"
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	mask, maskErr := statusField(status, "Umask:", 8)
	ignored, ignErr := statusField(status, "SigIgn:", 16)
	if err := errors.Join(maskErr, ignErr); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	return uint32(mask), ignored, nil
}

// statusField returns a number of /proc/PID/status (proc(5)).
func statusField(status []byte, name string, base int) (uint64, error) {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	if !ok {
		return 0, fmt.Errorf("no line %s", name)
	}
	value, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.ParseUint(string(bytes.TrimSpace(value)), base, 64)
}
