package pid1

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"bproc/wire"
)

// aliveLocked returns the children of init and the launches under way. A child
// that has ended and is not reported yet counts as alive: its status follows.
// The lock is that of order.
func (in *Init) aliveLocked() ([]wire.PID, error) {
	pids := append(in.launches.pids(), in.order.unreported...)
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("read /proc: %w", err)
	}
	for _, name := range names {
		pid, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && parentOf(stat) == os.Getpid() {
			pids = append(pids, wire.PID(pid))
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// parentOf returns the parent in the text of a stat file of proc(5), 0 if
// there is none. The name of the program, which comes before it in parentheses,
// can contain anything.
func parentOf(stat []byte) int {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	ppid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return ppid
}
