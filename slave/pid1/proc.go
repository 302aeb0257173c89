package pid1

import (
	"bytes"
	"os"
	"strconv"

	"bproc/wire"
)

// processes returns the numbers of all processes of the space, also of zombies.
func processes() ([]wire.PID, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []wire.PID
	for _, name := range names {
		if pid, err := strconv.ParseInt(name, 10, 32); err == nil {
			pids = append(pids, wire.PID(pid))
		}
	}
	return pids, nil
}

// relatives are the numbers in the text of a stat file of proc(5).
type relatives struct{ parent, pgid, sid wire.PID }

// parseStat reads the text of a stat file. The name of the program, which comes
// before the numbers in parentheses, can contain anything.
func parseStat(stat []byte) (relatives, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return relatives{}, false
	}
	var n [3]wire.PID
	for i := range n {
		v, err := strconv.ParseInt(string(fields[1+i]), 10, 32)
		if err != nil {
			return relatives{}, false
		}
		n[i] = wire.PID(v)
	}
	return relatives{parent: n[0], pgid: n[1], sid: n[2]}, true
}
