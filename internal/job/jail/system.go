package jail

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Files and directories of /proc and /sys that a job need not read, and those that change the node.
// The lists are runc's.
var (
	maskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug",
		"/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readOnlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// kernel mounts /proc and /sys.
func (r *root) kernel() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if r.AllProcesses {
		if err := r.show("/proc", inertAll); err != nil {
			return err
		}
	} else if err := r.mount("proc", "/proc", flags, "hidepid=ptraceable"); err != nil {
		return err
	}
	if err := r.mount("sysfs", "/sys", flags|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if r.Privileged {
		return nil
	}
	for _, path := range readOnlyPaths {
		if err := r.protect(path); err != nil {
			return err
		}
	}
	for _, path := range maskedPaths {
		if err := r.mask(path); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) mount(fs, path string, flags uintptr, options string) error {
	if err := makeDirs(r.at(path)); err != nil {
		return err
	}
	if err := unix.Mount(fs, r.at(path), fs, flags, options); err != nil {
		return fmt.Errorf("mount %s for the job: %w", path, err)
	}
	return nil
}

// protect makes a path read-only, if the kernel has it.
func (r *root) protect(path string) error {
	err := unix.Mount(r.at(path), r.at(path), "", unix.MS_BIND|unix.MS_REC, "")
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make %s read-only for the job: %w", path, err)
	}
	return setattr(r.at(path), true, readOnly|inertAll)
}

// mask hides the contents of a path.
func (r *root) mask(path string) error {
	info, err := os.Stat(r.at(path))
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
	case info.IsDir():
		err = unix.Mount("tmpfs", r.at(path), "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0,mode=0755")
	default:
		err = unix.Mount("/dev/null", r.at(path), "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("hide %s from the job: %w", path, err)
	}
	return nil
}

// deviceFiles are the devices that every job has.
var deviceFiles = []string{"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}

// deviceLinks are symbolic links in /dev.
var deviceLinks = map[string]string{
	"/dev/fd":     "/proc/self/fd",
	"/dev/ptmx":   "pts/ptmx",
	"/dev/stderr": "/proc/self/fd/2",
	"/dev/stdin":  "/proc/self/fd/0",
	"/dev/stdout": "/proc/self/fd/1",
}

// devices mounts /dev. A privileged job has the node's.
func (r *root) devices() error {
	if r.Privileged {
		return r.show("/dev", 0)
	}
	const inert = unix.MS_NOSUID | unix.MS_NOEXEC
	for _, m := range []struct {
		fs, path string
		flags    uintptr
		options  string
	}{
		{"tmpfs", "/dev", inert, "mode=0755,size=64k"},
		{"devpts", "/dev/pts", inert, "newinstance,ptmxmode=0666,mode=0620,gid=5"},
		{"tmpfs", "/dev/shm", inert | unix.MS_NODEV, "mode=1777,size=64m"},
		{"mqueue", "/dev/mqueue", inert | unix.MS_NODEV, ""},
	} {
		if err := r.mount(m.fs, m.path, m.flags, m.options); err != nil {
			return err
		}
	}
	for _, path := range deviceFiles {
		if err := r.show(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for path, target := range deviceLinks {
		if err := os.Symlink(target, r.at(path)); err != nil {
			return err
		}
	}
	return setattr(r.at("/dev"), false, readOnly)
}
