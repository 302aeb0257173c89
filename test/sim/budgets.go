package sim

import (
	"slices"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// limit is the number of processes that a user may have (RLIMIT_NPROC).
const limit = 100

func limitOf(uid uint32) uint64 { return limit }

// room identifies the bound of a user's processes on a node for a control group of the front end.
type room struct {
	uid   uint32
	group uint64
}

// taskGroups are the control groups that bound tasks on the front end, the innermost first, by the
// control group of a client.
var taskGroups = map[uint64][]core.TaskGroup{
	7: {{Path: "/a/b", ID: 7, Max: 60}, {Path: "/a", ID: 8, Max: 80}},
	9: {{Path: "/ghosts", ID: 9, Max: 300}},
}

// tasks returns a control group with its present number of tasks.
func (k *kernel) tasks(g core.TaskGroup) core.TaskGroup {
	for _, p := range k.procs {
		if slices.ContainsFunc(taskGroups[p.cgroup], func(in core.TaskGroup) bool { return in.ID == g.ID }) {
			g.Now++
		}
	}
	return g
}

// isFull reports whether a control group has no room for another process.
func (k *kernel) isFull(cgroup uint64) bool {
	return slices.ContainsFunc(taskGroups[cgroup], func(g core.TaskGroup) bool { return k.tasks(g).Now >= g.Max })
}

// taskGroupsOf answers a question about the control groups of a process.
func (k *kernel) taskGroupsOf(q core.TaskGroupsOf, a *core.Answer) {
	p := k.procs[q.PID]
	if p == nil {
		a.Errno = unix.ESRCH
		return
	}
	switch {
	case q.Into != "" && k.sim.chance(5):
		a.Text = "no room"
	case q.Into != "":
		p.cgroup = 9
	}
	for _, g := range taskGroups[p.cgroup] {
		a.Groups = append(a.Groups, k.tasks(g))
	}
}

func (k *kernel) countTasks(q core.CountTasks, a *core.Answer) {
	for _, all := range [][]core.TaskGroup{taskGroups[7], taskGroups[9]} {
		for _, g := range all {
			if slices.Contains(q.Paths, g.Path) {
				a.Groups = append(a.Groups, k.tasks(g))
			}
		}
	}
}

// hasRoom reports whether a process can fork within the bounds that its node knows.
func (n *node) hasRoom(p *proc) bool {
	share, room := n.shares[p.uid], n.rooms[p.room]
	return (p.uid == 0 || share == 0 || n.count(func(q *proc) bool { return q.uid == p.uid }) < share) &&
		(p.room.group == 0 || room == 0 || n.count(func(q *proc) bool { return q.room == p.room }) < room)
}

// count counts processes, including those that init was asked to start.
func (n *node) count(is func(*proc) bool) (count uint64) {
	for _, p := range n.procs {
		if is(p) {
			count++
		}
	}
	for _, what := range n.init.in {
		if p, ok := what.(*proc); ok && is(p) {
			count++
		}
	}
	return count
}

// bound applies a bound of a user's processes.
func (n *node) bound(m *wire.Budget) {
	n.sim.note("node %d: user %d may have %d of group %d", n.id, m.UID, m.Tasks, m.Group)
	if m.Group == 0 {
		n.shares[m.UID] = m.Tasks
		return
	}
	n.rooms[room{m.UID, m.Group}] = m.Tasks
	n.bounds = append(n.bounds, m)
	n.isBounded()
}

// isBounded confirms the bounds that are met.
func (n *node) isBounded() {
	n.bounds = slices.DeleteFunc(n.bounds, func(m *wire.Budget) bool {
		of := room{m.UID, m.Group}
		if n.rooms[of] != m.Tasks || m.Tasks == 0 {
			return true // there is a newer one
		}
		if n.slave == nil || n.link == nil || n.count(func(p *proc) bool { return p.room == of }) > m.Tasks {
			return false
		}
		n.slave.tell(len(n.records))
		n.slave.say(&wire.Bounded{UID: m.UID, Tasks: m.Tasks, Group: m.Group})
		return true
	})
}

// checkShares checks that a user's shares on all nodes do not exceed the limit on one machine.
func (s *Sim) checkShares() {
	for _, uid := range []uint32{1000, 1001, 1002} {
		all := uint64(0)
		for _, n := range s.nodes {
			if n.isLimited() || n.count(func(p *proc) bool { return p.uid == uid }) == 0 {
				continue
			}
			share := n.shares[uid]
			if all += share; share == 0 {
				s.fail("node %d does not know how many processes user %d may have", n.id, uid)
			}
		}
		if all > limit {
			s.fail("user %d may have %d processes on all nodes, and %d on one machine", uid, all, limit)
		}
	}
}

// launchedIn returns the number of clients' ghosts in a control group.
func (k *kernel) launchedIn(cgroup uint64) (count int) {
	for _, c := range k.sim.everyone {
		if p := k.procs[c.ghost]; p != nil && p.cgroup == cgroup {
			count++
		}
	}
	return count
}
