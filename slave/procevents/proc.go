package procevents

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"bproc/internal/procstat"
	"bproc/wire"
)

// Proc is the directory on which the procfs of a space is mounted, as the daemon
// sees it.
type Proc string

// maxArgv bounds what is reported of a command line, in bytes: a ghost only shows it to ps, and
// nothing executes it again.
const maxArgv = 64 << 10

// Image is what a process shows of the program that it executes.
type Image struct {
	Argv []string
	Comm string // name of the program (proc_pid_comm(5)); empty if Argv implies it
}

// Image returns the image of a process; false if it is gone. A zombie has a name only.
func (dir Proc) Image(pid wire.PID) (Image, bool) {
	line, ok := dir.read(pid, "cmdline")
	if !ok {
		return Image{}, false
	}
	comm, ok := dir.read(pid, "comm")
	if !ok {
		return Image{}, false
	}
	im := Image{Comm: strings.TrimSuffix(string(comm), "\n")}
	if len(line) == 0 {
		return im, true
	}
	im.Argv = strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00")
	if im.Comm == commOf(im.Argv[0]) {
		im.Comm = ""
	}
	return im, true
}

// read reads a file of a process, up to maxArgv bytes; false if it is gone.
func (dir Proc) read(pid wire.PID, name string) ([]byte, bool) {
	text, err := procstat.ReadFile(string(dir)+"/"+pid.String()+"/"+name, maxArgv)
	return text, err == nil
}

// commOf returns the name that a ghost gives itself, from its first argument.
func commOf(arg string) string {
	const size = 15 // TASK_COMM_LEN, without the NUL
	name := arg[strings.LastIndexByte(arg, '/')+1:]
	return name[:min(len(name), size)]
}

// Scan returns all processes that are not zombies.
func (dir Proc) Scan() ([]ProcessInfo, error) {
	entries, err := os.ReadDir(string(dir))
	if err != nil {
		return nil, fmt.Errorf("look at all processes: %w", err)
	}
	var all []ProcessInfo
	for _, e := range entries {
		pid, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil {
			continue
		}
		if p, ok := dir.Process(wire.PID(pid)); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// Process returns what /proc shows of one process; false if it has ended.
func (dir Proc) Process(pid wire.PID) (ProcessInfo, bool) {
	p, threads, ok := dir.look(pid)
	p.Ending = p.Ending && threads == 1
	// The first thread of a process may be a zombie while others go on.
	return p, ok && (p.State != 'Z' || threads > 1)
}

// Remains returns what /proc shows of a process that has ended and that no process has waited for;
// false if it is gone, even if another process has its number.
func (dir Proc) Remains(pid wire.PID) (ProcessInfo, bool) {
	p, _, ok := dir.look(pid)
	return p, ok && (p.State == 'Z' || p.Ending)
}

// Zombie returns what /proc shows of a process, which may have ended; false if it has been waited
// for.
func (dir Proc) Zombie(pid wire.PID) (ProcessInfo, bool) {
	p, _, ok := dir.look(pid)
	return p, ok
}

// look returns what /proc shows of a process, and how many threads it has; false if there is none.
func (dir Proc) look(pid wire.PID) (p ProcessInfo, threads int, ok bool) {
	stat, found := dir.read(pid, "stat")
	if !found {
		return p, 0, false
	}
	status, found := dir.read(pid, "status")
	if !found {
		return p, 0, false
	}
	p, threads, ok = parseStat(stat)
	if ok && p.torn() {
		if stat, ok = dir.read(pid, "stat"); ok {
			p, threads, ok = parseStat(stat)
		}
	}
	return p, threads, ok && p.State != 'X' && p.parseStatus(string(status))
}

// torn reports whether p may have been in setsid(2) when it was read: the kernel reads its session
// first and then its group (do_task_stat of fs/proc/array.c), without the lock under which both
// change. A second read shows both after the change.
func (p *ProcessInfo) torn() bool { return p.PGID == p.PID && p.SID != p.PID }

// parseStat reads the text of /proc/PID/stat. Older kernels show no signal of a stopped process.
func parseStat(stat procstat.Stat) (p ProcessInfo, threads int, ok bool) {
	number, _, _ := strings.Cut(string(stat), " (")
	pid, ok := atoi(number)
	if !ok || len(stat.Field(procstat.ExitCode)) == 0 {
		return ProcessInfo{}, 0, false
	}
	p.PID, p.State = wire.PID(pid), stat.Field(procstat.State)[0]
	for field, n := range map[procstat.Field]*wire.PID{
		procstat.Parent: &p.Parent, procstat.Group: &p.PGID, procstat.Session: &p.SID,
	} {
		v, ok := stat.Int(field)
		if !ok {
			return ProcessInfo{}, 0, false
		}
		*n = wire.PID(v)
	}
	flags, hasFlags := stat.Uint(procstat.Flags)
	threads, ok = stat.Int(procstat.Threads)
	if !ok || !hasFlags {
		return ProcessInfo{}, 0, false
	}
	p.Ending = flags&procstat.Exiting != 0
	if v, ok := stat.Int(procstat.ExitCode); ok && p.State == 'T' {
		p.Stop = v & 0x7f
	}
	return p, threads, true
}

func atoi(field string) (int, bool) {
	v, err := strconv.ParseInt(field, 10, 32)
	return int(v), err == nil
}

// parseStatus reads the credentials from /proc/PID/status (proc_pid_status(5)).
func (p *ProcessInfo) parseStatus(text string) bool {
	found := 0
	for line := range strings.Lines(text) {
		var ids *wire.IDs
		switch {
		case strings.HasPrefix(line, "Uid:"):
			ids = &p.User
		case strings.HasPrefix(line, "Gid:"):
			ids = &p.Group
		default:
			continue
		}
		if _, err := fmt.Sscan(line[len("Uid:"):], &ids.Real, &ids.Effective, &ids.Saved); err != nil {
			return false
		}
		found++
	}
	return found == 2
}
