package status

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Names below /proc/PID that may be fetched, with everything below them. The others are omitted
// because programs do not read them by name (mem, pagemap), or because they can only be written.
var processNames = names(`
	arch_status attr autogroup auxv cgroup cmdline comm coredump_filter cpuset cwd environ exe
	fd fdinfo gid_map io ksm_merging_pages ksm_stat latency limits loginuid maps mounts mountinfo
	mountstats net ns numa_maps oom_adj oom_score oom_score_adj patch_state personality
	projid_map root sched schedstat seccomp_cache sessionid setgroups smaps smaps_rollup stack stat
	statm status syscall task timens_offsets timers timerslack_ns uid_map wchan`)

// Names below the node's /proc that may be fetched.
var nodeNames = names(`
	buddyinfo cgroups cmdline consoles cpuinfo crypto devices diskstats execdomains fb filesystems
	interrupts iomem ioports key-users loadavg locks mdstat meminfo misc modules mtrr net pagetypeinfo
	partitions pressure schedstat slabinfo softirqs stat swaps uptime version vmallocinfo
	vmstat zoneinfo`)

// Names of files of a process, and of a thread, whose content is read under the lock of the memory.
var memoryNames = names("cmdline environ maps numa_maps smaps smaps_rollup")

func names(text string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		set[name] = true
	}
	return set
}

// Bounds of a path.
const (
	maxPath = 1 << 10 // bytes
	maxDeep = 6       // names
)

// locate returns the place of a path in procfs: the directory of a process and the path from there.
// A path that does not name a known file is ENOENT; so is the init of a space.
func locate(pid wire.PID, path string, inner bool) (dir, below string, err error) {
	parts := strings.Split(path, "/")
	if len(path) > maxPath || len(parts) > maxDeep {
		return "", "", unix.ENAMETOOLONG
	}
	if slices.ContainsFunc(parts, noName) {
		return "", "", unix.ENOENT
	}
	switch {
	case pid < 0 || inner && pid == initPID:
		return "", "", unix.ENOENT
	case pid == 0:
		if !nodeNames[parts[0]] {
			return "", "", unix.ENOENT
		}
		// The machine's net is a link to that of the reader, which may be outside of the PID
		// namespace.
		if parts[0] == "net" {
			return "1", path, nil
		}
		return ".", path, nil
	}
	known := parts[0]
	if known == "task" && len(parts) > 2 {
		known = parts[2]
	}
	if !processNames[known] {
		return "", "", unix.ENOENT
	}
	return pid.String(), path, nil
}

// noName reports whether a part of a path cannot be a file name.
func noName(part string) bool {
	return part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0)
}
