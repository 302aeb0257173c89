package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/internal/probe"
)

// The oldest kernel on which bproc works.
const oldestMajor, oldestMinor = 5, 10

func kernelVersion(_ context.Context, s *subject) Result {
	release, err := s.Root.Text("/proc/sys/kernel/osrelease")
	if err != nil {
		return failed(err, "mount procfs on /proc")
	}
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return skip("the kernel's release is %q, which is no version", release)
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fail("Linux "+release, "bproc needs Linux 5.10 or newer: install a newer kernel and boot it")
	}
	return ok("Linux %s", release)
}

// option returns a build option of the kernel: "y", "m", "n", or "" if it cannot be found out.
func (s *subject) option(name string) string {
	release, err := s.Root.Text("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	text, err := s.config(release)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if value, found := strings.CutPrefix(line, name+"="); found {
			return value
		}
		if line == "# "+name+" is not set" {
			return "n"
		}
	}
	return "n"
}

// lacking returns the result for a feature that a probe has not found. It says whether the kernel
// was built without the options of the feature.
func (s *subject) lacking(err error, options ...string) Result {
	for _, option := range options {
		if s.option(option) == "n" {
			return failed(err, "boot a kernel with "+option+"=y; this one is built without it")
		}
	}
	return failed(err, "boot a kernel with "+strings.Join(options, " and ")+"; the kernels of distributions have it")
}

func processNumbers(_ context.Context, s *subject) Result {
	if err := s.Root.Cursor(); err != nil {
		return s.lacking(err, "CONFIG_CHECKPOINT_RESTORE")
	}
	if err := s.SetTID(); err != nil {
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			return failed(err, "a container's seccomp profile forbids clone3: allow it, or run bproc outside of the container")
		}
		return failed(err, "install Linux 5.10 or newer")
	}
	return ok("can be chosen (clone3 with set_tid, ns_last_pid)")
}

func pidNamespaces(_ context.Context, s *subject) Result {
	if err := s.Root.PIDNamespaces(); err != nil {
		return s.lacking(err, "CONFIG_PID_NS")
	}
	return ok("there are PID namespaces")
}

func closeRange(_ context.Context, s *subject) Result {
	if err := s.CloseRange(); err != nil {
		return failed(err, "a container's seccomp profile may forbid close_range: allow it; otherwise install Linux 5.10 or newer")
	}
	return ok("descriptors can be closed at once")
}

func ptrace(_ context.Context, s *subject) Result {
	if err := s.Root.Ptrace(); err != nil {
		return failed(err, "set kernel.yama.ptrace_scope to 2 or less in /etc/sysctl.d and reboot: 3 cannot be changed back")
	}
	return ok("root may trace processes")
}

func seccompNotification(_ context.Context, s *subject) Result {
	if err := s.Seccomp(); err != nil {
		return s.lacking(err, "CONFIG_SECCOMP_FILTER", "CONFIG_CROSS_MEMORY_ATTACH")
	}
	return ok("there is user notification")
}

// jobs says what a job sees of other processes (docs/jobs.md).
func jobs(_ context.Context, s *subject) Result {
	switch v, err := s.Landlock(); {
	case err != nil:
		return failed(err, "a container's seccomp profile may forbid landlock_create_ruleset: allow it")
	case v >= probe.LandlockSignals:
		return ok("a job cannot see or signal processes of others")
	case v >= probe.LandlockSight:
		return warn("a job can signal other processes of its user: the kernel's Landlock is too old", "run jobs that do not trust each other as different users, or install Linux 6.12 or newer")
	default:
		return warn("a job sees other processes of its user and can signal them: the kernel has no Landlock, or one that is too old",
			"run jobs that do not trust each other as different users; or install Linux 5.19 or newer, 6.12 for signals, with landlock among the kernel's parameters lsm=")
	}
}

func bpf(_ context.Context, s *subject) Result {
	const types = "/sys/kernel/btf/vmlinux"
	if _, err := os.Stat(s.Root.Path(types)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return s.lacking(fmt.Errorf("the kernel does not describe its types: %w", err), "CONFIG_DEBUG_INFO_BTF", "CONFIG_BPF_SYSCALL")
		}
		return failed(err, "mount sysfs on /sys")
	}
	if !s.root() {
		return needsRoot("whether BPF programs can be loaded")
	}
	if err := s.BPF(); err != nil {
		return failed(err, "allow root to load BPF programs (kernel lockdown, seccomp profile of a container), or boot a kernel with CONFIG_BPF_SYSCALL, CONFIG_DEBUG_INFO_BTF and CONFIG_FTRACE")
	}
	return ok("programs can be loaded and attached")
}

func fuse(_ context.Context, s *subject) Result {
	const without = "without it there is no view of the cluster in /proc (bpns, bpsh --procfs)"
	if !s.root() {
		if _, err := os.Stat(s.Root.Path("/dev/fuse")); err != nil {
			return warn(err.Error(), "load the module fuse; "+without)
		}
		return needsRoot("whether /dev/fuse can be opened")
	}
	if err := s.Root.FUSE(); err != nil {
		return warn(err.Error(), "modprobe fuse, or in a container pass /dev/fuse on; "+without)
	}
	if mounts, err := s.Root.Text("/proc/self/mountinfo"); err == nil && !strings.Contains(mounts, " - fusectl ") {
		return ok("/dev/fuse can be opened; fusectl is not mounted, only an administrator would miss it")
	}
	return ok("/dev/fuse can be opened")
}
