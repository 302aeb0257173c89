package master

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// inherit fills in what a process has from its parent, and what the kernel judges by: groups, process group and
// session, bounding set, umask, nice value and limits. A client could say anything, and the node believes
// everything, so they are read from the ghost, which is a child like any other. The ghost is held: its number
// cannot have passed to another process, unless its keeper has died, and then only to one of the same client and
// user. Ghosts of the same kin share the limits of the first; alike is nil for a ghost without kin.
func inherit(spawn *wire.Spawn, alike *kin) error {
	status, err := readGhost(spawn.PID, "status")
	if err != nil {
		return err
	}
	limits, err := alike.of(spawn.PID)
	if err != nil {
		return err
	}
	// A group or session that the front end's PID namespace does not show has number 0.
	pgid, err := unix.Getpgid(int(spawn.PID))
	if err != nil {
		return fmt.Errorf("process group of ghost %d: %w", spawn.PID, err)
	}
	sid, err := unix.Getsid(int(spawn.PID))
	if err != nil {
		return fmt.Errorf("session of ghost %d: %w", spawn.PID, err)
	}
	spawn.PGID, spawn.SID = wire.PID(pgid), wire.PID(sid)
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, int(spawn.PID))
	if err != nil {
		return fmt.Errorf("nice value of ghost %d: %w", spawn.PID, err)
	}
	spawn.Command.Nice = int8(20 - prio) // the system call returns 20 minus the nice value (getpriority(2))
	spawn.Command.Limits = limits
	if err := inheritStatus(spawn, status); err != nil {
		return fmt.Errorf("ghost %d: %w", spawn.PID, err)
	}
	return nil
}

func limitsOf(ghost wire.PID) ([]wire.Limit, error) {
	text, err := readGhost(ghost, "limits")
	if err != nil {
		return nil, err
	}
	limits, err := parseLimits(text)
	if err != nil {
		return nil, fmt.Errorf("ghost %d: %w", ghost, err)
	}
	return limits, nil
}

func readGhost(pid wire.PID, file string) ([]byte, error) {
	return procstat.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file), procstat.Whole)
}

// errOther is the error for a launch whose ghost is another process now.
var errOther = fmt.Errorf("its parent or user is another: %w", unix.ESRCH)

// inheritStatus takes the values of proc_pid_status(5).
func inheritStatus(spawn *wire.Spawn, status []byte) error {
	parent, err := statusNumbers(status, "PPid:", 10, 1)
	user, userErr := statusNumbers(status, "Uid:", 10, 4)
	group, groupErr := statusNumbers(status, "Gid:", 10, 4)
	groups, groupsErr := statusNumbers(status, "Groups:", 10, 0)
	umask, umaskErr := statusNumbers(status, "Umask:", 8, 1)
	bounding, boundErr := boundingSet(status)
	own, ownErr := ownBoundingSet()
	if err := errors.Join(err, userErr, groupErr, groupsErr, umaskErr, boundErr, ownErr); err != nil {
		return err
	}
	spawn.Dropped = own &^ bounding
	if wire.PID(parent[0]) != spawn.Parent || user[0] != spawn.UID || !isOne(user) {
		return errOther
	}
	const effective = 1 // real, effective, saved, and that for files
	spawn.GID, spawn.Groups, spawn.Command.Umask = group[effective], groups, umask[0]
	return nil
}

// boundingSet returns the capabilities that a process can get by execve, root or not.
func boundingSet(status []byte) (uint64, error) {
	_, rest, _ := bytes.Cut(status, []byte("\nCapBnd:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	set, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("process status: CapBnd: %w", err)
	}
	return set, nil
}

var ownBoundingSet = sync.OnceValues(func() (uint64, error) {
	status, err := procstat.ReadFile("/proc/self/status", procstat.Whole)
	if err != nil {
		return 0, err
	}
	return boundingSet(status)
})

// statusNumbers returns the numbers of a line, which must have at least as many as least.
func statusNumbers(status []byte, name string, base, least int) ([]uint32, error) {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	words := bytes.Fields(line)
	if !ok || len(words) < least {
		return nil, fmt.Errorf("process status: no line %s with %d numbers", name, least)
	}
	var numbers []uint32
	for _, word := range words {
		n, err := strconv.ParseUint(string(word), base, 32)
		if err != nil {
			return nil, fmt.Errorf("process status: %s %w", name, err)
		}
		numbers = append(numbers, uint32(n))
	}
	return numbers, nil
}

// nameColumns is the width of the names in /proc/PID/limits, and resources is the number of
// resources that a node knows (RLIM_NLIMITS).
const (
	nameColumns = 26
	resources   = 16
)

// parseLimits reads /proc/PID/limits (proc_pid_limits(5)), which has a line for each resource, in
// their order. prlimit(2) would need CAP_SYS_RESOURCE for what everybody may read there.
func parseLimits(text []byte) (limits []wire.Limit, err error) {
	_, text, _ = bytes.Cut(text, []byte("\n"))
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line[min(nameColumns, len(line)):])
		if len(words) < 2 {
			return nil, fmt.Errorf("resource limits: line %q", line)
		}
		soft, softErr := parseLimit(string(words[0]))
		hard, hardErr := parseLimit(string(words[1]))
		if err := errors.Join(softErr, hardErr); err != nil {
			return nil, fmt.Errorf("resource limits: %w", err)
		}
		if len(limits) < resources {
			limits = append(limits, wire.Limit{Resource: uint8(len(limits)), Soft: soft, Hard: hard})
		}
	}
	return limits, nil
}

func parseLimit(word string) (uint64, error) {
	if word == "unlimited" {
		return math.MaxUint64, nil // RLIM_INFINITY
	}
	return strconv.ParseUint(word, 10, 64)
}
