package core

import (
	"cmp"
	"maps"
	"slices"

	"bproc/wire"
)

// TaskGroup is a control group of the front end that bounds how many tasks are in it and in
// those below it (pids controller; TasksMax= of systemd.resource-control(5)).
type TaskGroup struct {
	Path string
	ID   uint64 // that no other has while it exists
	Max  uint64
	Now  uint64
}

// taskGroup is what the core makes of such a group. Ghosts are among its tasks, and a ghost
// that finds no room cannot be made when its process has been. So
// what room there is, is promised to nodes, each for the processes of one user, before they
// fork. What a node is promised does not change with its own births: each takes one place
// there and one here.
type taskGroup struct {
	TaskGroup
	above    *taskGroup // the next that bounds its tasks, too; nil: there is none
	below    map[*allotment]bool
	promised uint64 // to them: how many more processes than they have
	unborn   uint64 // births that were told and have no ghosts yet
	behind   bool   // what is promised is to be looked at
}

// allotment is what a user may have on a node of a control group.
type allotment struct {
	allotmentKey
	procs uint64
	told  uint64 // processes that the node may have, as it was told last; 0: it was not
	spare uint64 // how many more than it had then
	most  uint64 // processes that it may have until it has answered
	idle  int    // ticks without a process
}

type allotmentKey struct {
	uid   uint32
	group *taskGroup // the innermost
	node  wire.NodeID
}

// A quarter of the room is promised to no node: processes of the front end need it, and so
// does the next node, which can begin before others have answered. The last few places are
// not promised either: one more thread of a client must not take the place of a ghost.
const (
	reservedPart = 4
	reservedLast = 8  // part of all that a group may have
	mostReserved = 16 // of these
)

// open returns how many tasks more are to be promised.
func (g *taskGroup) open() uint64 {
	left := g.left()
	return less(left, max((left+reservedPart-1)/reservedPart, min(g.Max/reservedLast, mostReserved)))
}

// leastPart is which part of the room a node is promised in any case, up to leastShare:
// when a command begins on many nodes at once, the last of them cannot wait until the first
// have answered.
const leastPart = 16

// settleIn has the ghost of a launch enter the control group for ghosts, if there is one, and
// finds the groups that bound it. Then its process is started. The kernel may take milliseconds
// for that. What the ghost forks is in the same groups from birth.
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
	a.set(a.procs, max(a.most, a.procs+1)) // its ghost is there: it is to be one more, whatever was promised
	c.enter(p, a)
	if a.wants() {
		c.promise(a)
	}
}

// known returns the innermost of the groups that bound a process, of which the kernel has just
// told.
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

// enter enters a process in an allotment. Nodes are told soon of what has changed.
func (c *Core) enter(p *proc, a *allotment) {
	p.allotment = a
	a.set(a.procs+1, a.most)
	a.idle = 0
	c.shareOutSoon(a.group)
}

// wants reports whether a node is to be told at once of more: half of what it was promised is
// used.
func (a *allotment) wants() bool { return a.told == 0 || a.procs+a.spare/2 > a.told }

// conceived enters a process whose ghost is yet to be made, by that of its maker, which
// also says where the process is on its node.
func (c *Core) conceived(p, maker *proc) {
	if a := maker.allotment; a != nil {
		for g := range a.groups {
			g.unborn++
		}
		if c.enter(p, a); a.wants() {
			c.count(a.group, &promising{a})
		}
	}
}

// promising tells the node of an allotment at once of what it may have.
type promising struct{ *allotment }

func (w *promising) told(c *Core, a *Answer) {
	c.counted(w.group, a)
	if c.allotments[w.allotmentKey] == w.allotment && w.wants() {
		c.promise(w.allotment)
	}
}

// ghostMade says that the ghost has been made, or never will be.
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

// left returns how many tasks more a group may have.
func (g *taskGroup) left() uint64 { return less(g.Max, g.Now+g.unborn) }

// free returns how many of them are promised to nobody.
func (g *taskGroup) free() uint64 { return less(g.left(), g.promised) }

// set says how many processes there are in an allotment, and may be.
func (a *allotment) set(procs, most uint64) {
	before, now := less(a.most, a.procs), less(most, procs)
	a.procs, a.most = procs, most
	for g := range a.groups {
		g.promised += now - before
	}
}

func less(a, b uint64) uint64 { return max(a, b) - b }

// room returns how many processes more than it has a node is to be promised, and how many
// more than it was promised it can be. Each has the same share of what is left: so who needs
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

// promise tells a node of what it may have, if that has changed by much. What is taken
// from it can be promised to another when it has answered.
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

// bounded says that a node has no more processes of an allotment than it was told.
func (c *Core) bounded(s *session, m *wire.Bounded) {
	g := c.taskGroups[m.Group]
	a := c.allotments[allotmentKey{uid: m.UID, group: g, node: s.node}]
	if g != nil && a != nil && a.told == m.Tasks && a.most > a.told {
		a.set(a.procs, a.told)
		c.shareOut(g)
	}
}

// count asks how many tasks a group has, and those that it is in.
func (c *Core) count(g *taskGroup, then told) {
	var paths []string
	for ; g != nil; g = g.above {
		paths = append(paths, g.Path)
	}
	c.wonder(CountTasks{paths}, then)
}

// counted enters how many tasks a group has, and those that it is in. One that has gone bounds
// nothing.
func (c *Core) counted(g *taskGroup, a *Answer) {
	const many = 1 << 40
	for ; g != nil; g = g.above {
		now := TaskGroup{Path: g.Path, ID: g.ID, Max: many}
		if i := slices.IndexFunc(a.Groups, func(t TaskGroup) bool { return t.Path == g.Path && t.ID == g.ID }); i >= 0 {
			now = a.Groups[i]
		}
		g.TaskGroup = now
	}
}

// shareOut tells nodes of what they may have of a group, and of those that it is in.
func (c *Core) shareOut(g *taskGroup) { c.count(g, (*sharingOut)(g)) }

type sharingOut taskGroup

func (w *sharingOut) told(c *Core, a *Answer) {
	outer := (*taskGroup)(w)
	c.counted(outer, a)
	for outer.above != nil {
		outer = outer.above
	}
	for _, a := range slices.SortedFunc(maps.Keys(outer.below), (*allotment).compare) {
		c.promise(a)
	}
}

// warnFull logs that something has failed for a process, and why, if a control group that
// bounds it has no room.
func (c *Core) warnFull(p *proc, line logged) {
	if p.allotment == nil {
		c.emit(Log(line))
	} else {
		c.count(p.allotment.group, &full{group: p.allotment.group, line: line})
	}
}

// explainFull logs that something has failed for want of room for a process, and where.
func (c *Core) explainFull(p *proc, line logged) {
	otherwise := []any{"uid", p.uid, "remedy", "raise the user's limit of processes (RLIMIT_NPROC), or pids.max of the control group of the ghost"}
	if p.allotment == nil {
		line.Args = append(line.Args, otherwise...)
		c.emit(Log(line))
	} else {
		c.count(p.allotment.group, &full{p.allotment.group, line, otherwise})
	}
}

// full is a line of the log that says, with the remedy, which of the groups that bound a
// process has no room.
type full struct {
	group     *taskGroup
	line      logged
	otherwise []any // what it says if all have
}

func (w *full) told(c *Core, a *Answer) {
	c.counted(w.group, a)
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

// tellAllotments shares out what has changed.
func (c *Core) tellAllotments() {
	crowded := c.crowded
	c.crowded = nil
	for _, g := range crowded {
		g.behind = false
		c.shareOut(g)
	}
}

// tickTasks looks at all groups: processes of the front end come and go. It drops what
// nobody has used for a while.
func (c *Core) tickTasks() {
	for _, a := range slices.SortedFunc(maps.Values(c.allotments), (*allotment).compare) {
		if a.procs > 0 {
			continue
		}
		if a.idle++; a.idle > idleShare {
			c.dropAllotment(a)
		}
	}
	for _, id := range inOrder(c.taskGroups) {
		if g := c.taskGroups[id]; len(g.below) == 0 {
			delete(c.taskGroups, id)
		} else {
			c.shareOutSoon(g)
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

// tellAllAgain tells a node that has come back.
func (c *Core) tellAllAgain(id wire.NodeID) {
	for _, a := range slices.SortedFunc(maps.Values(c.allotments), (*allotment).compare) {
		if a.node == id {
			a.told = 0
			c.promise(a)
		}
	}
}
