package procevents

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

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
	Slow bool   // the command line could not be read in time; Argv is not known
}

// Image returns the image of a process; false if it is gone or cannot be read. A zombie has a name only.
func (dir Proc) Image(pid wire.PID) (Image, bool) {
	line, err := dir.read(pid, "cmdline")
	if err != nil {
		return Image{}, false
	}
	comm, err := dir.read(pid, "comm")
	if err != nil {
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

// ErrGone is the error for a process that is not there. Any other error, such as a want of
// descriptors, says nothing of the process.
var ErrGone = errors.New("the process is gone")

// read reads a file of a process, up to maxArgv bytes.
func (dir Proc) read(pid wire.PID, name string) ([]byte, error) {
	text, err := procstat.ReadFile(string(dir)+"/"+pid.String()+"/"+name, maxArgv)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		err = ErrGone
	}
	return text, err
}

// commOf returns the name that a ghost gives itself, from its first argument.
func commOf(arg string) string {
	const size = 15 // TASK_COMM_LEN, without the NUL
	name := arg[strings.LastIndexByte(arg, '/')+1:]
	return name[:min(len(name), size)]
}

// Scan returns all processes that are not zombies. It fails if it cannot read one of them.
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
		switch p, err := dir.Process(wire.PID(pid)); {
		case err == nil:
			all = append(all, p)
		case !errors.Is(err, ErrGone):
			return nil, fmt.Errorf("look at all processes: %w", err)
		}
	}
	return all, nil
}

// Process returns what /proc shows of one process; ErrGone if it has ended.
func (dir Proc) Process(pid wire.PID) (ProcessInfo, error) {
	p, threads, err := dir.look(pid)
	p.Ending = p.Ending && threads == 1
	if err == nil && p.State == 'Z' && threads <= 1 { // other threads go on when the first is a zombie
		err = ErrGone
	}
	return p, err
}

// Remains returns what /proc shows of a process that has ended and that no process has waited for;
// false if it is gone, even if another process has its number, or cannot be read.
func (dir Proc) Remains(pid wire.PID) (ProcessInfo, bool) {
	p, _, err := dir.look(pid)
	return p, err == nil && (p.State == 'Z' || p.Ending)
}

// Zombie returns what /proc shows of a process, which may have ended; ErrGone if it has been waited
// for.
func (dir Proc) Zombie(pid wire.PID) (ProcessInfo, error) {
	p, _, err := dir.look(pid)
	return p, err
}

// look returns what /proc shows of a process, and how many threads it has; ErrGone if there is none.
func (dir Proc) look(pid wire.PID) (p ProcessInfo, threads int, err error) {
	stat, err := dir.read(pid, "stat")
	if err != nil {
		return p, 0, err
	}
	status, err := dir.read(pid, "status")
	if err != nil {
		return p, 0, err
	}
	p, threads, ok := parseStat(stat)
	if ok && p.torn() {
		if stat, err = dir.read(pid, "stat"); err != nil {
			return p, 0, err
		}
		p, threads, ok = parseStat(stat)
	}
	if !ok || p.State == 'X' || !p.parseStatus(string(status)) {
		err = ErrGone
	}
	return p, threads, err
}

// torn reports whether p may have been in setsid(2) when it was read: the kernel reads its session
// first and then its group (do_task_stat of fs/proc/array.c), without the lock under which both
// change. A second read shows both after the change.
func (p *ProcessInfo) torn() bool { return p.PGID == p.PID && p.SID != p.PID }

// parseStat reads the text of /proc/PID/stat. Before Linux 5.17 it shows no signal of a stopped process.
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
