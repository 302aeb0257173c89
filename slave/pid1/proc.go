package pid1

import (
	"os"
	"strconv"

	"bproc/internal/procstat"
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

// relatives are the numbers in a stat file.
type relatives struct{ parent, pgid, sid wire.PID }

// parseStat reads the text of a stat file; false if it is incomplete.
func parseStat(stat procstat.Stat) (relatives, bool) {
	parent, hasParent := stat.Int(procstat.Parent)
	group, hasGroup := stat.Int(procstat.Group)
	session, hasSession := stat.Int(procstat.Session)
	return relatives{wire.PID(parent), wire.PID(group), wire.PID(session)}, hasParent && hasGroup && hasSession
}
