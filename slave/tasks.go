package slave

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bproc/slave/space"
	"bproc/wire"
)

// tasks bounds how many processes and threads the space has.
//
// There is a bound for all of them, so that the node's numbers never run out. A forked process and
// every thread takes a number of the node; a process started from the front end brings its own, and
// so does init.
//
// There are bounds for the tasks of a user, and for those of them that a control group of the front
// end bounds. The master sends them as budgets. These tasks are in a cgroup of their own from
// birth. A process that changes its user stays where it is. A budget of a group counts processes,
// which have ghosts there. The kernel also counts threads, and init's helpers that start processes
// in the cgroup and are in it themselves, so the bound is raised by their number. It is never too
// large, and too small only for more threads at once than it leaves room for.
type tasks struct {
	log    *slog.Logger
	cgroup taskGroup // nil: there is none

	mu       sync.Mutex
	numbers  int // numbers of the node
	launched int // processes that were started from the front end
	bound    uint64
	budgets  map[space.TaskUnit]uint64   // 0 or none: no bound
	besides  map[space.TaskUnit]uint64   // tasks of groups that are not processes
	units    map[space.TaskUnit]*os.File // file by which a process enters the cgroup of a unit, if it has one
}

// taskGroup is the part of a space's cgroup that tasks needs.
type taskGroup interface {
	Bound(tasks uint64) error
	Count() (int, error)
	Unit(u space.TaskUnit, tasks uint64) (*os.File, error)
	BoundUnit(u space.TaskUnit, tasks uint64) error
	Remove(u space.TaskUnit) error
	Besides(u space.TaskUnit, more uint64) (uint64, error)
}

func newTasks(log *slog.Logger, cgroup taskGroup) *tasks {
	return &tasks{
		log: log, cgroup: cgroup,
		budgets: make(map[space.TaskUnit]uint64), besides: make(map[space.TaskUnit]uint64), units: make(map[space.TaskUnit]*os.File),
	}
}

// An eighth of the node's numbers is spare: for numbers that groups and sessions hold after their
// process has ended, and for the time that moving the cursor takes. Of few numbers it is a quarter:
// a block that is nearly full is passed at once, and its gap fills.
const (
	sparedPart      = 8
	sparedPartOfFew = 4
	fewNumbers      = 4096
)

// Tasks that have numbers of their own, with init, are counted in steps, so that not every command
// writes the bound. Where there are few numbers a step is small: other tasks can fork into its excess,
// which is less than two steps.
const (
	maxOwnStep   = 64
	leastOwnStep = 16
	ownStepPart  = 16
)

// Tasks by which a bound exceeds its budget, for init's helpers.
const (
	userOwn  = 8
	groupOwn = 1
)

// besidesInterval is how often tasks that are not processes are counted.
const besidesInterval = time.Second

func (t *tasks) boundLocked(u space.TaskUnit) uint64 {
	switch budget := t.budgets[u]; {
	case budget == 0:
		return 0
	case u.Group == 0:
		return budget + userOwn
	default:
		return budget + max(t.besides[u], groupOwn)
	}
}

// have says how many numbers the node has.
func (t *tasks) have(numbers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.numbers = numbers
	t.adjustLocked()
}

// launch counts a process that is about to be started. It returns the file by which the process
// enters its cgroup, which the caller closes; nil: there is none.
func (t *tasks) launch(spawn *wire.Spawn) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launched++
	t.adjustLocked()
	u := space.TaskUnit{UID: spawn.UID, Group: spawn.TaskGroup}
	if u == (space.TaskUnit{}) || t.cgroup == nil {
		return nil, nil
	}
	if u.Group != 0 {
		if _, ok := t.budgets[u]; !ok {
			t.budgets[u] = spawn.Tasks
		}
		if _, err := t.unitLocked(space.TaskUnit{UID: u.UID}); err != nil {
			return nil, err
		}
	}
	f, err := t.unitLocked(u)
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0) // the group may be removed, and f closed, before the launch
	if err != nil {
		return nil, fmt.Errorf("start a process for user %d: duplicate %s: %w", u.UID, f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// unitLocked returns the file by which a process enters the cgroup of a unit. It is closed when the
// cgroup is removed.
func (t *tasks) unitLocked(u space.TaskUnit) (*os.File, error) {
	if f := t.units[u]; f != nil {
		return f, nil
	}
	f, err := t.cgroup.Unit(u, t.boundLocked(u))
	if err != nil {
		return nil, fmt.Errorf("start a process for user %d: %w", u.UID, err)
	}
	t.units[u] = f
	return f, nil
}

// resume counts processes that a former daemon has started.
func (t *tasks) resume(launched int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launched += launched
	t.adjustLocked()
}

// ended takes a process that has ended or could not be started out of the count.
func (t *tasks) ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launched--
	t.adjustLocked()
}

// budget bounds the tasks of a unit. A former daemon may have made its cgroup.
func (t *tasks) budget(m *wire.Budget) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := space.TaskUnit{UID: m.UID, Group: m.Group}
	if m.Tasks == 0 {
		delete(t.budgets, u)
	} else {
		t.budgets[u] = m.Tasks
	}
	switch {
	case t.cgroup == nil:
	case m.Tasks == 0 && m.Group != 0:
		t.removeLocked(u)
	default:
		t.writeLocked(u)
	}
}

func (t *tasks) writeLocked(u space.TaskUnit) {
	if err := t.cgroup.BoundUnit(u, t.boundLocked(u)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.log.Error("the tasks of a user could not be bounded", "uid", u.UID, "err", err)
	}
}

// removeLocked removes the cgroup of a group that no longer has processes.
func (t *tasks) removeLocked(u space.TaskUnit) {
	if f := t.units[u]; f != nil {
		f.Close()
		delete(t.units, u)
	}
	delete(t.besides, u)
	if err := t.cgroup.Remove(u); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.log.Debug("the cgroup of a group is not removed", "uid", u.UID, "err", err)
	}
}

// run counts tasks that are not processes from time to time.
func (t *tasks) run(ctx context.Context) error {
	tick := time.NewTicker(besidesInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.countBesides()
		case <-ctx.Done():
			return nil
		}
	}
}

// countBesides counts the tasks that are not processes, where a budget needs that.
func (t *tasks) countBesides() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cgroup == nil {
		return
	}
	for u, budget := range t.budgets {
		if u.Group == 0 || budget == 0 {
			continue
		}
		besides, err := t.cgroup.Besides(u, budget/2)
		if err != nil || besides == t.besides[u] {
			continue // it has no cgroup yet
		}
		t.besides[u] = besides
		t.writeLocked(u)
	}
}

// count returns the number of tasks; 0: it is not known.
func (t *tasks) count() int {
	if t.cgroup == nil {
		return 0
	}
	n, err := t.cgroup.Count()
	if err != nil {
		return 0
	}
	return n
}

func (t *tasks) adjustLocked() {
	step := maxOwnStep
	if t.numbers > 0 {
		step = min(step, max(leastOwnStep, t.numbers/ownStepPart))
	}
	own := (t.launched/step + 1) * step
	spared := sparedPart
	if t.numbers < fewNumbers {
		spared = sparedPartOfFew
	}
	bound := uint64(own + t.numbers/spared*(spared-1))
	if t.cgroup == nil || bound <= t.bound && t.bound <= bound+uint64(step) {
		return
	}
	t.bound = bound
	if err := t.cgroup.Bound(bound); err != nil {
		t.log.Error("the tasks of the node could not be bounded", "err", err)
	}
}

// close closes the files by which processes enter the cgroups of units.
func (t *tasks) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u, f := range t.units {
		f.Close()
		delete(t.units, u)
	}
}

// taskGroupOf returns the cgroup of a space's tasks, if it has one.
func taskGroupOf(sp *space.Space, log *slog.Logger) taskGroup {
	t, err := sp.Tasks()
	if err != nil {
		log.Warn("the number of processes on this node is not bounded", "err", err)
		return nil
	}
	return t
}
