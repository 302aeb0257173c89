package master

import (
	"log/slog"
	"sync"
	"time"

	"bproc/internal/taskgroup"
	"bproc/master/core"
	"bproc/wire"
)

// taskGroups knows the control groups that bound tasks on the front end.
type taskGroups struct {
	tree *taskgroup.Tree // nil: no group bounds tasks

	mu     sync.Mutex
	bounds map[string][]core.TaskGroup // by control group
	until  time.Time                   // bounds is used until then
}

// boundsTime is how long it is remembered which groups bound the tasks of a control group, and how
// many they have: launches come by the hundred a second, from one group.
const boundsTime = time.Second

// openTaskGroups finds the control groups.
func openTaskGroups(log *slog.Logger) *taskGroups {
	tree, err := taskgroup.Open()
	if err != nil {
		log.Warn("control groups do not bound what processes fork on nodes", "err", err)
	}
	return &taskGroups{tree: tree}
}

// of returns the groups that bound the tasks of a process, the innermost first.
func (g *taskGroups) of(pid wire.PID) ([]core.TaskGroup, error) {
	path, err := g.tree.Of(int(pid))
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.After(g.until) {
		g.bounds, g.until = map[string][]core.TaskGroup{}, now.Add(boundsTime)
	}
	all, known := g.bounds[path]
	if known {
		return all, nil
	}
	bounds, err := g.tree.Bounds(path)
	if err != nil {
		return nil, err
	}
	for _, b := range bounds {
		all = append(all, core.TaskGroup(b))
	}
	g.bounds[path] = all
	return all, nil
}

// count returns how many tasks groups have. It leaves out groups that are gone, or bound nothing.
func (g *taskGroups) count(paths []string) (all []core.TaskGroup) {
	for _, path := range paths {
		if now, bounded, err := g.tree.Look(path); err == nil && bounded {
			all = append(all, core.TaskGroup(now))
		}
	}
	return all
}
