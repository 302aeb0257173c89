package procevents

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bproc/wire"
)

// Proc is the directory on which the procfs of a space is mounted, as the daemon
// sees it.
type Proc string

// maxArgv bounds what is told of a command line, in bytes: a ghost shows it to ps,
// nobody executes it again.
const maxArgv = 64 << 10

// Argv returns the command line of a process; false if it has none (any more).
func (dir Proc) Argv(pid wire.PID) ([]string, bool) {
	f, err := os.Open(filepath.Join(string(dir), pid.String(), "cmdline"))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	line, err := io.ReadAll(io.LimitReader(f, maxArgv))
	if err != nil || len(line) == 0 {
		return nil, false
	}
	return strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00"), true
}

// Scan returns all processes that are not zombies.
func (dir Proc) Scan() ([]ProcessInfo, error) {
	entries, err := os.ReadDir(string(dir))
	if err != nil {
		return nil, fmt.Errorf("look at all processes: %w", err)
	}
	var all []ProcessInfo
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(string(dir), e.Name(), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		if p, ok := parseStat(string(stat)); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseStat reads a line of /proc/PID/stat (proc_pid_stat(5)): number, name in
// parentheses, state, parent, group, session; the 20th is the number of threads. The
// name may hold anything, so what follows it is found from its end.
func parseStat(line string) (ProcessInfo, bool) {
	before, after := strings.Index(line, " ("), strings.LastIndex(line, ") ")
	if before < 0 || after < before {
		return ProcessInfo{}, false
	}
	fields := strings.Fields(line[after+2:])
	if len(fields) < 18 {
		return ProcessInfo{}, false
	}
	// The first thread of a process may be a zombie while others work on.
	if state, threads := fields[0], fields[17]; state == "X" || state == "Z" && (threads == "0" || threads == "1") {
		return ProcessInfo{}, false
	}
	var n [4]wire.PID
	for i, s := range []string{line[:before], fields[1], fields[2], fields[3]} {
		v, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return ProcessInfo{}, false
		}
		n[i] = wire.PID(v)
	}
	return ProcessInfo{PID: n[0], Parent: n[1], PGID: n[2], SID: n[3]}, true
}
