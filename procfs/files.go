package procfs

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// files are those of /proc/PID and /proc/PID/task/TID, as proc(5) and tgid_base_stuff of
// fs/proc/base.c have them, except those that control a process or are its memory. The
// mode says who may read, also where the kernel asks that only when a file is opened
// (PTRACE_MODE_READ of ptrace(2)).
//
// Two are not the same for all who may read them (proc_pid_stack and proc_pid_wchan of
// fs/proc/base.c): stack is for root only, and where a process waits in the kernel is
// "0" for all but its owner and root.
var files = map[string]uint32{
	"auxv":          unix.S_IFREG | 0o400,
	"cgroup":        unix.S_IFREG | 0o444,
	"cmdline":       unix.S_IFREG | 0o444,
	"comm":          unix.S_IFREG | 0o444,
	"cpuset":        unix.S_IFREG | 0o444,
	"cwd":           unix.S_IFLNK | 0o777,
	"environ":       unix.S_IFREG | 0o400,
	"exe":           unix.S_IFLNK | 0o777,
	"fd":            unix.S_IFDIR | 0o500,
	"fdinfo":        unix.S_IFDIR | 0o500,
	"gid_map":       unix.S_IFREG | 0o444,
	"io":            unix.S_IFREG | 0o400,
	"limits":        unix.S_IFREG | 0o444,
	"loginuid":      unix.S_IFREG | 0o444,
	"maps":          unix.S_IFREG | 0o400,
	"mountinfo":     unix.S_IFREG | 0o444,
	"mounts":        unix.S_IFREG | 0o444,
	"net":           unix.S_IFDIR | 0o555,
	"ns":            unix.S_IFDIR | 0o511,
	"numa_maps":     unix.S_IFREG | 0o400,
	"oom_adj":       unix.S_IFREG | 0o444,
	"oom_score":     unix.S_IFREG | 0o444,
	"oom_score_adj": unix.S_IFREG | 0o444,
	"personality":   unix.S_IFREG | 0o400,
	"root":          unix.S_IFLNK | 0o777,
	"sched":         unix.S_IFREG | 0o444,
	"schedstat":     unix.S_IFREG | 0o444,
	"sessionid":     unix.S_IFREG | 0o444,
	"smaps":         unix.S_IFREG | 0o400,
	"smaps_rollup":  unix.S_IFREG | 0o400,
	stack:           unix.S_IFREG | 0o400,
	"stat":          unix.S_IFREG | 0o444,
	"statm":         unix.S_IFREG | 0o444,
	"status":        unix.S_IFREG | 0o444,
	"syscall":       unix.S_IFREG | 0o400,
	"uid_map":       unix.S_IFREG | 0o444,
	wchan:           unix.S_IFREG | 0o444,
}

const (
	stack = "stack"
	wchan = "wchan"
)

// nowhere is what wchan says to others.
var nowhere = []byte("0")

// processNames and threadNames are what a listing of /proc/PID and of
// /proc/PID/task/TID has. The kernel may ask for a few names at a time; what programs
// read comes first.
var (
	processNames = append(threadNames, entry{"task", unix.S_IFDIR})
	threadNames  = names()
)

func names() []entry {
	var list []entry
	order := append(slices.Clone(hotFiles), slices.Sorted(maps.Keys(files))...)
	for i, name := range order {
		if slices.Index(order, name) == i {
			list = append(list, entry{name, files[name] & unix.S_IFMT})
		}
	}
	return slices.Clip(list)
}
