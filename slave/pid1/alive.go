package pid1

import (
	"fmt"
	"os"
	"slices"

	"bproc/wire"
)

// aliveLocked returns the children of init and the launches under way, but not
// the stand-ins. A launched process that has ended and is not reported yet, or is to be
// reported again, counts as alive: its status follows. The lock is that of order.
func (in *Init) aliveLocked() ([]wire.PID, error) {
	alive := slices.Concat(in.launches.pids(), in.order.kept.ended())
	pids, err := processes()
	if err != nil {
		return nil, fmt.Errorf("look at all processes: %w", err)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid.String() + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		if f, ok := parseStat(stat); ok && f.parent == initPID && in.standins.at(pid) == nil {
			alive = append(alive, pid)
		}
	}
	alive = append(alive, in.statuses.pids()...) // last: who has ended meanwhile is there
	slices.Sort(alive)
	return slices.Compact(alive), nil
}
