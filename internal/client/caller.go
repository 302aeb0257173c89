package client

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// command returns what the process starts with: what c says, and for the rest
// what a child of this program has. What the kernel judges by, such as limits, the
// master reads from the ghost.
func (c *Cmd) command() (wire.Command, error) {
	cmd := wire.Command{Path: c.Path, Argv: c.Args, Env: c.Env, Dir: c.Dir, OnlyDir: c.Dir != "" && !c.DirOptional, View: c.View}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if cmd.Dir == "" {
		cmd.Dir = workingDir()
	}
	if t := c.Terminal; t != nil {
		cmd.Terminal = &wire.Terminal{Size: uint64(t.Size), Modes: t.Modes}
	}
	if c.leads() {
		return cmd, nil
	}
	var err error
	cmd.Ignored, err = ignoredSignals()
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

// ignoredSignals returns the signals that this process ignores. The ghost ignores others.
func ignoredSignals() (uint64, error) {
	const path = "/proc/self/status"
	status, err := procstat.ReadFile(path, procstat.Whole)
	if err != nil {
		return 0, err
	}
	ignored, err := statusField(status, "SigIgn:", 16)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return ignored, nil
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
