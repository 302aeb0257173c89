package space

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"bproc/slave/pid1/filter"
	"bproc/slave/pid1/supervise"
)

// Probe tells what the kernel of this node lacks for a process space, each
// with the option or version that brings it.
func Probe() error {
	return errors.Join(
		probeBuild(),
		probeRoot(),
		probeFile("/proc/self/ns/pid", "PID namespaces", "CONFIG_PID_NS"),
		probeFile("/proc/sys/kernel/ns_last_pid", "the cursor of process numbers", "CONFIG_CHECKPOINT_RESTORE"),
		probeSetTID(),
		filter.Check(),
		supervise.Check(),
		probeFreezer(),
	)
}

func probeBuild() error {
	if !withCgo {
		return errors.New("built without cgo, which entering namespaces needs")
	}
	return nil
}

func probeRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("a process space needs root")
	}
	return nil
}

func probeFile(path, what, option string) error {
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf("%s (%s): %w", what, option, err)
	}
	return nil
}

// probeSetTID asks for more numbers than a process can have. A kernel that
// knows the field says EINVAL; one that does not finds the structure too big.
func probeSetTID() error {
	const (
		setTIDSize = 9  // index of the field in struct clone_args
		tooMany    = 33 // MAX_PID_NS_LEVEL is 32
	)
	args := [10]uint64{setTIDSize: tooMany}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != unix.EINVAL {
		return fmt.Errorf("clone3 with set_tid (Linux 5.5): %w", errno)
	}
	return nil
}

// probeFreezer looks for a freezer among the hierarchies of this process
// (cgroups(7)): the unified one has it since Linux 5.2.
func probeFreezer() error {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return fmt.Errorf("cgroups (CONFIG_CGROUPS): %w", err)
	}
	for line := range strings.Lines(string(b)) {
		_, rest, _ := strings.Cut(line, ":")
		controllers, _, _ := strings.Cut(rest, ":")
		if controllers == "" || strings.Contains(","+controllers+",", ",freezer,") {
			return nil
		}
	}
	return errors.New("no cgroup freezer is mounted (CONFIG_CGROUP_FREEZER, or cgroup version 2)")
}
