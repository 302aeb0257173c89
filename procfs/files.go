package procfs

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// files are those of /proc/PID and /proc/PID/task/TID (proc(5), tgid_base_stuff of fs/proc/base.c),
// except those that control a process or contain its memory. The mode says who may read, even where
// the kernel checks that only when a file is opened (PTRACE_MODE_READ of ptrace(2)).
//
// Two depend on the reader (proc_pid_stack and proc_pid_wchan of fs/proc/base.c): only root may
// read stack, and wchan is "0" for all but the owner and root.
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

// nowhere is the content of wchan for other users.
var nowhere = []byte("0")

// processNames and threadNames are the names in a listing of /proc/PID and of /proc/PID/task/TID.
// The kernel may ask for a few names at a time; the files that programs read most come first.
var (
	processNames = inOrder(dots, append(slices.Clone(threadNames), entry{name: "task", mode: unix.S_IFDIR}))
	threadNames  = names()
)

func names() []entry {
	var list []entry
	order := append(slices.Clone(hotFiles), slices.Sorted(maps.Keys(files))...)
	for i, name := range order {
		if slices.Index(order, name) == i {
			list = append(list, entry{name: name, mode: files[name] & unix.S_IFMT})
		}
	}
	return inOrder(dots, list)
}
