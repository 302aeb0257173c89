package procfs

import (
	"bytes"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
)

// process is a remote process as it is shown. It does not change: a new version is a new process.
type process struct {
	Process

	comm  []byte
	start []byte // start time
	born  uint64 // distinguishes processes that have had the same number
	since int64  // seconds since 1970: when it was first seen
}

var errStat = errors.New("stat is not as the kernel writes it")

// newProcess makes a process of a node's report.
func newProcess(p Process) (*process, error) {
	name, start, ok := cutStat(p.Stat)
	if !ok {
		return nil, errStat
	}
	if len(p.Threads) == 0 {
		p.Threads = []Thread{{p.PID, p.Stat, p.Status}}
	}
	return &process{Process: p, comm: comm(name, p.Status), start: start}, nil
}

// cutStat returns the name and the start time in the text of stat.
func cutStat(stat []byte) (name, start []byte, ok bool) {
	name, ok = procstat.Stat(stat).Name()
	start = procstat.Stat(stat).Field(procstat.Start)
	return name, start, ok && start != nil
}

// comm returns the content of comm for the name in stat, and for status. In status newline and
// backslash are escaped (proc_task_name of fs/proc/array.c); in stat this depends on the kernel.
func comm(inStat, status []byte) []byte {
	line, _, _ := bytes.Cut(status, []byte{'\n'})
	name, found := bytes.CutPrefix(line, []byte("Name:\t"))
	if !found {
		return append(bytes.Clone(inStat), '\n')
	}
	text := make([]byte, 0, len(name)+1)
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '\\' && i+1 < len(name) {
			if i++; name[i] == 'n' {
				c = '\n'
			}
		}
		text = append(text, c)
	}
	return append(text, '\n')
}

// same reports whether two versions are of one process.
func (p *process) same(q *process) bool {
	return p.Node == q.Node && bytes.Equal(p.start, q.start)
}

// hotFiles are the names in /proc/PID that are shown from memory, if their content is known.
var hotFiles = append(readOfAll, "comm")

// readOfAll are the files that programs read that list processes: ps(1), top(1), pgrep(1).
var readOfAll = []string{"stat", "status", "statm", "cmdline", "cgroup", "environ"}

// content returns the content of such a file; nil: it has to be fetched.
func (p *process) content(name string) []byte {
	switch name {
	case "stat":
		return p.Stat
	case "status":
		return p.Status
	case "statm":
		return p.Statm
	case "cmdline":
		return p.Cmdline
	case "comm":
		return p.comm
	case "cgroup":
		return p.Cgroup
	case "environ":
		return p.Environ
	}
	return nil
}

// differing returns the names in /proc/PID whose content differs in another version.
func (p *process) differing(q *process) []string {
	var names []string
	for _, name := range hotFiles {
		was, is := p.content(name), q.content(name)
		if !bytes.Equal(was, is) || (was == nil) != (is == nil) {
			names = append(names, name)
		}
	}
	if q.Environ == nil && (slices.Contains(names, "comm") || slices.Contains(names, "cmdline")) {
		names = append(names, "environ") // the process has executed
	}
	if !slices.EqualFunc(p.Threads, q.Threads, sameThread) {
		names = append(names, "task")
	}
	return names
}

func sameThread(a, b Thread) bool {
	return a.TID == b.TID && bytes.Equal(a.Stat, b.Stat) && bytes.Equal(a.Status, b.Status)
}

// text returns a file of the process with a content.
func (p *process) text(content []byte, mode uint32) *text {
	return &text{content: content, mode: mode &^ unix.S_IFMT, uid: p.UID, gid: p.GID, since: p.since}
}

// folder returns a directory of the process.
func (p *process) folder(mode uint32) folder {
	return folder{mode: mode, uid: p.UID, gid: p.GID, since: p.since}
}
