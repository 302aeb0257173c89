package slave

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"bproc/slave/space"
	"bproc/wire"
)

// tasks bounds how many processes and threads the space has.
//
// All of them: so that the node's numbers never run out. What is forked and every
// thread takes a number that is leased to the node; what is started from the front
// end brings its own, and so does init.
//
// Those of a user: by a budget that the master gives. A user's processes are in a
// cgroup of their own from birth. One that changes its user stays where it is.
type tasks struct {
	log    *slog.Logger
	cgroup taskGroup // nil: there is none

	mu       sync.Mutex
	leased   int // numbers
	launched int // processes that were started from the front end
	bound    uint64
	budgets  map[uint32]uint64   // by user; 0 or none: no bound
	users    map[uint32]*os.File // that have a cgroup: the way into it
}

// taskGroup is what is needed of a space's cgroup.
type taskGroup interface {
	Bound(tasks uint64) error
	Count() (int, error)
	User(uid uint32, tasks uint64) (*os.File, error)
	BoundUser(uid uint32, tasks uint64) error
}

func newTasks(log *slog.Logger, cgroup taskGroup) *tasks {
	return &tasks{log: log, cgroup: cgroup, budgets: make(map[uint32]uint64), users: make(map[uint32]*os.File)}
}

// An eighth of the leased numbers is for those that are held after their process has
// ended, by groups and sessions, and for the time that moving the cursor takes.
const (
	boundNumerator   = 7
	boundDenominator = 8
)

// Tasks that have numbers of their own are counted in steps, with some for init.
const (
	ownTasks = 64
	ownStep  = 64
)

// userOwn is added to a budget for init's helpers that start processes in the cgroup of
// a user, and are in it themselves.
const userOwn = 8

func userBound(budget uint64) uint64 {
	if budget == 0 {
		return 0
	}
	return budget + userOwn
}

// lease takes in how many numbers the node has.
func (t *tasks) lease(numbers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leased = numbers
	t.adjustLocked()
}

// launch counts a process that is going to be started, and returns the way into the
// cgroup of its user, which stays open; nil: there is none.
func (t *tasks) launch(uid uint32) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launched++
	t.adjustLocked()
	if uid == 0 || t.cgroup == nil {
		return nil, nil
	}
	if f := t.users[uid]; f != nil {
		return f, nil
	}
	f, err := t.cgroup.User(uid, userBound(t.budgets[uid]))
	if err != nil {
		return nil, fmt.Errorf("start a process for user %d: %w", uid, err)
	}
	t.users[uid] = f
	return f, nil
}

// resume counts processes that a former daemon has started.
func (t *tasks) resume(launched int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launched += launched
	t.adjustLocked()
}

// ended is for a process that has ended or could not be started.
func (t *tasks) ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launched--
	t.adjustLocked()
}

// budget bounds the tasks of a user.
func (t *tasks) budget(m *wire.Budget) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Tasks == 0 {
		delete(t.budgets, m.UID)
	} else {
		t.budgets[m.UID] = m.Tasks
	}
	if t.users[m.UID] == nil {
		return
	}
	if err := t.cgroup.BoundUser(m.UID, userBound(m.Tasks)); err != nil {
		t.log.Error("the tasks of a user could not be bounded", "uid", m.UID, "err", err)
	}
}

// count returns how many tasks there are, as far as that is known.
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
	own := ownTasks + (t.launched+ownStep-1)/ownStep*ownStep
	bound := uint64(own + t.leased/boundDenominator*boundNumerator)
	if t.cgroup == nil || bound == t.bound {
		return
	}
	t.bound = bound
	if err := t.cgroup.Bound(bound); err != nil {
		t.log.Error("the tasks of the node could not be bounded", "err", err)
	}
}

// close closes the ways into the cgroups of users.
func (t *tasks) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, f := range t.users {
		f.Close()
		delete(t.users, uid)
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
