package core

import (
	"maps"
	"slices"

	"bproc/wire"
)

// takeOver goes on with the processes of a former daemon, by the journal and by what init has.
func (c *Core) takeOver(in Found) {
	known := c.events.now()
	var left TakenOver
	for _, pid := range slices.Sorted(maps.Keys(known)) {
		k := known[pid]
		if k.Launched {
			c.emit(Resume{k.PID, k.Parent, k.Began})
		}
		switch {
		case !k.Starting, slices.Contains(in.Starting, pid):
		case slices.Contains(in.PIDs, pid):
			left.Running = append(left.Running, pid)
		default:
			left.Unsure = append(left.Unsure, pid)
		}
	}
	c.log.Info("processes of a former daemon go on", "count", len(known))
	c.emit(left)
}

// resumeLaunched records the running processes that the front end has started.
func (c *Core) resumeLaunched(known map[wire.PID]Known) {
	for pid, k := range known {
		if k.Launched && !k.Starting {
			c.launched[pid] = true
		}
	}
}
