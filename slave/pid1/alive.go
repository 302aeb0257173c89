package pid1

import (
	"fmt"
	"os"
	"slices"

	"bproc/wire"
)

// aliveLocked returns the children of init and the launches under way, without the stand-ins. A
// launched process that has ended and is not reported yet, or must be reported again, counts as
// alive: its status follows. The lock of order is held.
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
		if f, ok := parseStat(stat); ok && f.parent == initPID && !in.standins.has(pid) {
			alive = append(alive, pid)
		}
	}
	alive = append(alive, in.statuses.pids()...) // last: it has the processes that have ended meanwhile
	slices.Sort(alive)
	return slices.Compact(alive), nil
}
