package core

import (
	"cmp"
	"maps"
	"slices"

	"bproc/wire"
)

// TaskGroup is a control group of the front end that bounds the tasks in it and in the groups below
// (pids controller; TasksMax= of systemd.resource-control(5)).
type TaskGroup struct {
	Path string
	ID   uint64 // unique while the group exists
	Max  uint64
	Now  uint64
}

// taskGroup is such a group, with the promises to nodes. Ghosts are among its tasks, and a ghost
// that finds no room cannot be made although its process has been. So the room is promised to
// nodes, each part for the processes of one user, before they fork. Births do not change what a
// node is promised: each takes one place there and one here.
type taskGroup struct {
	TaskGroup
	above    *taskGroup // the next group that bounds its tasks, too; nil: none
	below    map[*allotment]bool
	promised uint64 // places promised to these, beyond the processes that they have
	unborn   uint64 // births that were reported and have no ghosts yet
	behind   bool   // the promises are to be reviewed
}

// allotment is the number of processes that a user may have on a node in a control group.
type allotment struct {
	allotmentKey
	procs uint64
	told  uint64 // processes that the node may have, as it was told last; 0: it was not told
	spare uint64 // how many more than it had then
	most  uint64 // processes that it may have until it has answered
	idle  int    // ticks without a process
}

type allotmentKey struct {
	uid   uint32
	group *taskGroup // the innermost group
	node  wire.NodeID
}

// A quarter of the room is promised to no node: processes of the front end need it, and so
// does the next node, which can begin before others have answered. The last few places are
// not promised either: one more thread of a client must not take the place of a ghost.
const (
	reservedPart = 4
	reservedLast = 8  // part of the group's maximum
	mostReserved = 16 // at most so many places
)

// open returns how many more tasks may be promised.
func (g *taskGroup) open() uint64 {
	left := g.left()
	return less(left, max((left+reservedPart-1)/reservedPart, min(g.Max/reservedLast, mostReserved)))
}

// leastPart is the part of the room that a node is promised in any case, up to leastShare: when a
// command begins on many nodes at once, the last of them cannot wait until the first have answered.
const leastPart = 16

// settleIn has the ghost of a launch enter the control group for ghosts, if there is one, and finds
// the groups that bound it. Then the process is started. The kernel may take milliseconds for that.
// Children of the ghost are in the same groups from birth.
func (c *Core) settleIn(p *proc) {
	if !c.config.TaskGroups {
		c.spawn(p)
		return
	}
	p.settling = true
	c.findTaskGroups(p, c.config.Ghosts)
}

// findTaskGroups asks for the control groups that bound the ghost of a process.
func (c *Core) findTaskGroups(p *proc, into string) {
	if c.config.TaskGroups {
		c.wonder(TaskGroupsOf{PID: p.pid, Into: into}, &taskGroupsOf{p})
	}
}

type taskGroupsOf struct{ p *proc }

func (w *taskGroupsOf) told(c *Core, a *Answer) {
	p := w.p
	spawns := p.settling
	p.settling = false
	if spawns && p.state != spawning || c.procs[p.pid] != p {
		return // it is abandoned
	}
	if a.Text != "" {
		c.log.Warn("a ghost stays in the control group of who has started its process", "pid", p.pid, "cgroup", c.config.Ghosts, "err", a.Text)
	}
	if a.Errno == 0 && p.allotment == nil {
		c.allot(p, c.known(a.Groups))
	}
	if spawns {
		c.spawn(p)
	}
}

// allot enters a process in the allotment of the innermost control group that bounds its ghost.
func (c *Core) allot(p *proc, g *taskGroup) {
	if g == nil {
		return
	}
	key := allotmentKey{uid: p.uid, group: g, node: p.node}
	a := c.allotments[key]
	if a == nil {
		a = &allotment{allotmentKey: key}
		c.allotments[key] = a
		for g := range a.groups {
			g.below[a] = true
		}
	}
	a.set(a.procs, max(a.most, a.procs+1)) // its ghost is there, so it counts, whatever was promised
	c.enter(p, a)
	if a.wants() {
		c.promise(a)
	}
}

// known enters the groups that bound a process, as the kernel has just reported them, and returns
// the innermost.
func (c *Core) known(all []TaskGroup) (inner *taskGroup) {
	for _, told := range slices.Backward(all) {
		g := c.taskGroups[told.ID]
		if g == nil {
			g = &taskGroup{below: map[*allotment]bool{}}
			c.taskGroups[told.ID] = g
		}
		g.TaskGroup, g.above = told, inner
		inner = g
	}
	return inner
}

// enter enters a process in an allotment. Nodes are told soon of the change.
func (c *Core) enter(p *proc, a *allotment) {
	p.allotment = a
	a.set(a.procs+1, a.most)
	a.idle = 0
	c.shareOutSoon(a.group)
}

// wants reports whether a node must be told at once that it may have more: half of its spare places
// are used.
func (a *allotment) wants() bool { return a.told == 0 || a.procs+a.spare/2 > a.told }

// conceived enters a process whose ghost is yet to be made by the ghost of its maker. The maker
// also determines where the process is on its node.
func (c *Core) conceived(p, maker *proc) {
	if a := maker.allotment; a != nil {
		for g := range a.groups {
			g.unborn++
		}
		if c.enter(p, a); a.wants() {
			c.count([]*taskGroup{a.group}, &promising{a})
		}
	}
}

// promising tells the node of an allotment at once what it may have.
type promising struct{ *allotment }

func (w *promising) told(c *Core, a *Answer) {
	c.counted([]*taskGroup{w.group}, a)
	if c.allotments[w.allotmentKey] == w.allotment && w.wants() {
		c.promise(w.allotment)
	}
}

// ghostMade notes that the ghost has been made, or never will be.
func (c *Core) ghostMade(p *proc) {
	if p.allotment != nil {
		for g := range p.allotment.groups {
			g.unborn--
		}
	}
}

// leave takes a process out of its allotment.
func (c *Core) leave(p *proc) {
	if a := p.allotment; a != nil && !p.discharged {
		p.discharged = true
		a.set(a.procs-1, a.most)
		c.shareOutSoon(a.group)
	}
}

// groups calls yield for the groups that bound an allotment, the innermost first.
func (a *allotment) groups(yield func(*taskGroup) bool) {
	for g := a.group; g != nil && yield(g); g = g.above {
	}
}

func (a *allotment) compare(b *allotment) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.uid, b.uid), cmp.Compare(a.group.ID, b.group.ID))
}

// left returns how many more tasks a group may have.
func (g *taskGroup) left() uint64 { return less(g.Max, g.Now+g.unborn) }

// free returns how many of them are promised to no node.
func (g *taskGroup) free() uint64 { return less(g.left(), g.promised) }

// set sets how many processes an allotment has, and how many it may have.
func (a *allotment) set(procs, most uint64) {
	before, now := less(a.most, a.procs), less(most, procs)
	a.procs, a.most = procs, most
	for g := range a.groups {
		g.promised += now - before
	}
}

func less(a, b uint64) uint64 { return max(a, b) - b }

// room returns how many processes beyond those it has a node is to be promised, and by how many its
// present promise can grow. All nodes have the same share of what is left, so a node that needs
// more gets more, in smaller and smaller steps.
func (a *allotment) room() (share, more uint64) {
	share, more = ^uint64(0), ^uint64(0)
	for g := range a.groups {
		left, n := g.left(), uint64(len(g.below))
		least := min(left/leastPart, leastShare)
		share = min(share, max(g.open()/n, least))
		free := g.free()
		if n > 1 {
			free /= 2
		}
		if a.told == 0 {
			free = max(free, least)
		}
		more = min(more, free)
	}
	return share, more
}

// promise tells a node what it may have, if that has changed by much. Places that are taken from it
// can be promised to another node when it has answered.
func (c *Core) promise(a *allotment) {
	s := c.nodes.byID[a.node].sess
	if s == nil || s.ended {
		return
	}
	share, more := a.room()
	want := max(1, min(a.procs+share, a.most+more)) // 0 would say that it is not used any more
	if a.told != 0 {
		change := max(want, a.told) - min(want, a.told)
		if change == 0 || change < less(max(want, a.told), a.procs)/8 {
			return
		}
	}
	a.told, a.spare = want, less(want, a.procs)
	a.set(a.procs, max(a.most, want))
	c.put(s, &wire.Budget{UID: a.uid, Tasks: want, Group: a.group.ID})
}

// bounded notes that a node has no more processes of an allotment than it was told.
func (c *Core) bounded(s *session, m *wire.Bounded) {
	g := c.taskGroups[m.Group]
	a := c.allotments[allotmentKey{uid: m.UID, group: g, node: s.node}]
	if g != nil && a != nil && a.told == m.Tasks && a.most > a.told {
		a.set(a.procs, a.told)
		c.shareOut(g)
	}
}

// withAbove returns groups and all that are above them, each once.
func withAbove(groups []*taskGroup) (all []*taskGroup) {
	has := make(map[*taskGroup]bool)
	for _, g := range groups {
		for ; g != nil && !has[g]; g = g.above {
			has[g] = true
			all = append(all, g)
		}
	}
	return all
}

// count asks how many tasks groups and the groups above them have.
func (c *Core) count(groups []*taskGroup, then told) {
	var paths []string
	for _, g := range withAbove(groups) {
		paths = append(paths, g.Path)
	}
	c.wonder(CountTasks{paths}, then)
}

// counted enters how many tasks groups and the groups above them have. A group that is gone bounds
// nothing.
func (c *Core) counted(groups []*taskGroup, a *Answer) {
	const many = 1 << 40
	told := make(map[string]TaskGroup, len(a.Groups))
	for _, t := range a.Groups {
		told[t.Path] = t
	}
	for _, g := range withAbove(groups) {
		now, is := told[g.Path]
		if !is || now.ID != g.ID {
			now = TaskGroup{Path: g.Path, ID: g.ID, Max: many}
		}
		g.TaskGroup = now
	}
}

// shareOut tells nodes what they may have of groups and of the groups above them.
func (c *Core) shareOut(groups ...*taskGroup) { c.count(groups, sharingOut(groups)) }

type sharingOut []*taskGroup

func (w sharingOut) told(c *Core, a *Answer) {
	c.counted(w, a)
	for _, outer := range withAbove(w) {
		if outer.above != nil {
			continue
		}
		for _, a := range slices.SortedFunc(maps.Keys(outer.below), (*allotment).compare) {
			c.promise(a)
		}
	}
}

// warnFull logs a failure that concerns a process, and the reason if a control group that bounds
// the process has no room.
func (c *Core) warnFull(p *proc, line logged) {
	if p.allotment == nil {
		c.emit(Log(line))
	} else {
		c.count([]*taskGroup{p.allotment.group}, &full{group: p.allotment.group, line: line})
	}
}

// explainFull logs a failure for want of room for a process, and where the room is missing.
func (c *Core) explainFull(p *proc, line logged) {
	otherwise := []any{"uid", p.uid, "remedy", "raise the user's limit of processes (RLIMIT_NPROC), or pids.max of the control group of the ghost"}
	if p.allotment == nil {
		line.Args = append(line.Args, otherwise...)
		c.emit(Log(line))
	} else {
		c.count([]*taskGroup{p.allotment.group}, &full{p.allotment.group, line, otherwise})
	}
}

// full is a line of the log that gets a remedy, and the name of the group without room.
type full struct {
	group     *taskGroup
	line      logged
	otherwise []any // added if all groups have room
}

func (w *full) told(c *Core, a *Answer) {
	c.counted([]*taskGroup{w.group}, a)
	about := w.otherwise
	for g := w.group; g != nil; g = g.above {
		if g.Now >= g.Max {
			about = []any{"cgroup", g.Path, "max", g.Max, "remedy", "raise pids.max of the control group (TasksMax), or give ghosts one of their own (ghosts, bpmaster(8))"}
			break
		}
	}
	w.line.Args = append(w.line.Args, about...)
	c.emit(Log(w.line))
}

func (c *Core) shareOutSoon(g *taskGroup) {
	if !g.behind {
		g.behind = true
		c.crowded = append(c.crowded, g)
	}
}

// tellAllotments shares out the groups that have changed.
func (c *Core) tellAllotments() {
	crowded := c.crowded
	c.crowded = nil
	for _, g := range crowded {
		g.behind = false
	}
	if len(crowded) > 0 {
		c.shareOut(crowded...)
	}
}

// mostReviewed is the number of groups that are reviewed with each tick, one after the other: to
// review a group is to read files.
const mostReviewed = 256

// tickTasks reviews groups, since processes of the front end come and go. It drops what has not been
// used for a while.
func (c *Core) tickTasks() {
	for _, a := range slices.SortedFunc(maps.Values(c.allotments), (*allotment).compare) {
		if a.procs > 0 {
			continue
		}
		if a.idle++; a.idle > idleShare {
			c.dropAllotment(a)
		}
	}
	all := inOrder(c.taskGroups)
	from, _ := slices.BinarySearch(all, c.reviewed)
	for i, id := range slices.Concat(all[from:], all[:from]) {
		if g := c.taskGroups[id]; len(g.below) == 0 {
			delete(c.taskGroups, id)
		} else if i < mostReviewed {
			c.shareOutSoon(g)
			c.reviewed = id + 1
		}
	}
}

func (c *Core) dropAllotment(a *allotment) {
	delete(c.allotments, a.allotmentKey)
	a.set(0, 0)
	for g := range a.groups {
		delete(g.below, a)
	}
	if s := c.nodes.byID[a.node].sess; s != nil && a.told != 0 {
		c.put(s, &wire.Budget{UID: a.uid, Group: a.group.ID})
	}
}

// tellAllAgain tells a node that has come back what it may have.
func (c *Core) tellAllAgain(id wire.NodeID) {
	for _, a := range slices.SortedFunc(maps.Values(c.allotments), (*allotment).compare) {
		if a.node == id {
			a.told = 0
			c.promise(a)
		}
	}
}
