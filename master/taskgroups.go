package master

import (
	"cmp"
	"maps"
	"slices"

	"bproc/internal/taskgroup"
	"bproc/wire"
)

// taskGroup is a control group of the front end that bounds how many tasks are in it and
// in those below it (pids controller; TasksMax= of systemd.resource-control(5)). Ghosts are
// among them, and a ghost that finds no room cannot be made when its process has been. So
// what room there is, is promised to nodes, each for the processes of one user, before they
// fork. What a node is promised does not change with its own births: each takes one place
// there and one here.
//
// Its owner is the core.
type taskGroup struct {
	taskgroup.Group
	above    *taskGroup // the next that bounds its tasks, too; nil: there is none
	below    map[*allotment]bool
	promised uint64 // to them: how many more processes than they have
	unborn   uint64 // births that were told and have no ghosts yet
	behind   bool   // what is promised is to be looked at
}

// taskTree is what is needed of the front end's control groups.
type taskTree interface {
	Of(pid int) (string, error)
	Bounds(path string) ([]taskgroup.Group, error)
	Look(path string) (g taskgroup.Group, bounded bool, err error)
	Enter(pid int, path string) error
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

// allot enters a process in the allotment of the control group that bounds its ghost.
func (c *core) allot(p *proc) {
	if c.tasks == nil || p.allotment != nil {
		return
	}
	path, err := c.tasks.Of(int(p.pid))
	if err != nil {
		return // it has just ended
	}
	g := c.taskGroupOf(path)
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
}

// settleIn has the ghost of a launch enter the control group for ghosts, if there is one, and
// then goes on. The kernel may take milliseconds for that. What the ghost forks is there from
// birth.
func (c *core) settleIn(p *proc, then func()) {
	if c.tasks == nil || c.ghosts == "" {
		c.allot(p)
		then()
		return
	}
	p.moving = true
	c.slowly(func() func() {
		err := c.tasks.Enter(int(p.pid), c.ghosts)
		return func() {
			if p.moving = false; p.state != spawning {
				return // it is abandoned
			}
			if err != nil {
				c.log.Warn("a ghost stays in the control group of who has started its process", "pid", p.pid, "cgroup", c.ghosts, "err", err)
			}
			c.allot(p)
			then()
		}
	})
}

// enter enters a process in an allotment. When half of what was promised is used, its node
// is told at once of more, the others soon.
func (c *core) enter(p *proc, a *allotment) {
	p.allotment = a
	a.set(a.procs+1, a.most)
	a.idle = 0
	if a.told == 0 || a.procs+a.spare/2 > a.told {
		for g := range a.groups {
			c.look(g)
		}
		c.promise(a)
	}
	c.shareOutSoon(a.group)
}

// conceived enters a process whose ghost is yet to be made, by that of its maker, which
// also says where the process is on its node.
func (c *core) conceived(p, maker *proc) {
	if a := maker.allotment; a != nil {
		for g := range a.groups {
			g.unborn++
		}
		c.enter(p, a)
	}
}

// ghostMade takes in that the ghost has been made, or never will be.
func (c *core) ghostMade(p *proc) {
	if p.allotment != nil {
		for g := range p.allotment.groups {
			g.unborn--
		}
	}
}

// leave takes a process out of its allotment.
func (c *core) leave(p *proc) {
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

// taskGroupOf returns the innermost group that bounds the tasks of a control group; nil:
// none does.
func (c *core) taskGroupOf(path string) *taskGroup {
	if g, known := c.bounds[path]; known {
		return g
	}
	all, err := c.tasks.Bounds(path)
	if err != nil {
		c.log.Warn("it is not known how many tasks a control group may have", "cgroup", path, "err", err)
	}
	var inner *taskGroup
	for i := len(all) - 1; i >= 0; i-- {
		g := c.taskGroups[all[i].ID]
		if g == nil {
			g = &taskGroup{below: map[*allotment]bool{}}
			c.taskGroups[all[i].ID] = g
		}
		g.Group, g.above = all[i], inner
		inner = g
	}
	c.bounds[path] = inner
	return inner
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
func (c *core) promise(a *allotment) {
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
	s.put(&wire.Budget{UID: a.uid, Tasks: want, Group: a.group.ID})
}

// bounded takes in that a node has no more processes of an allotment than it was told.
func (c *core) bounded(s *session, m *wire.Bounded) {
	g := c.taskGroups[m.Group]
	a := c.allotments[allotmentKey{uid: m.UID, group: g, node: s.node}]
	if g != nil && a != nil && a.told == m.Tasks && a.most > a.told {
		a.set(a.procs, a.told)
		c.shareOut(g)
	}
}

// shareOut looks at a group, and those that it is in, and tells nodes of what they may have.
func (c *core) shareOut(g *taskGroup) {
	outer := g
	for ; g != nil; g = g.above {
		c.look(g)
		outer = g
	}
	for _, a := range slices.SortedFunc(maps.Keys(outer.below), (*allotment).compare) {
		c.promise(a)
	}
}

// look looks at how many tasks a group has. One that has gone bounds nothing.
func (c *core) look(g *taskGroup) {
	const many = 1 << 40
	now, bounded, err := c.tasks.Look(g.Path)
	if err != nil || !bounded || now.ID != g.ID {
		now = taskgroup.Group{Path: g.Path, ID: g.ID, Max: many}
	}
	g.Group = now
}

// full returns the innermost of the groups that bound a process that has no room; nil: all
// have.
func (c *core) full(p *proc) *taskGroup {
	if p.allotment != nil {
		for g := range p.allotment.groups {
			if c.look(g); g.Now >= g.Max {
				return g
			}
		}
	}
	return nil
}

// remedy says for the log what to do about a group that is full.
func (g *taskGroup) remedy() []any {
	return []any{"cgroup", g.Path, "max", g.Max, "remedy", "raise pids.max of the control group (TasksMax), or give ghosts one of their own (ghosts, bpmaster(8))"}
}

// whyFull says for the log what keeps the ghost of a process from making another.
func (c *core) whyFull(maker *proc) []any {
	if g := c.full(maker); g != nil {
		return g.remedy()
	}
	return []any{"uid", maker.uid, "remedy", "raise the user's limit of processes (RLIMIT_NPROC), or pids.max of the control group of the ghost"}
}

func (c *core) shareOutSoon(g *taskGroup) {
	if !g.behind {
		g.behind = true
		c.crowded = append(c.crowded, g)
	}
}

// tellAllotments shares out what has changed.
func (c *core) tellAllotments() {
	crowded := c.crowded
	c.crowded = nil
	for _, g := range crowded {
		g.behind = false
		c.shareOut(g)
	}
}

// tickTasks looks at all groups: processes of the front end come and go. It drops what
// nobody has used for a while.
func (c *core) tickTasks() {
	clear(c.bounds)
	for key, a := range c.allotments {
		if a.procs > 0 {
			continue
		}
		if a.idle++; a.idle > idleShare {
			c.dropAllotment(key, a)
		}
	}
	for id, g := range c.taskGroups {
		if len(g.below) == 0 {
			delete(c.taskGroups, id)
		} else {
			c.shareOutSoon(g)
		}
	}
}

func (c *core) dropAllotment(key allotmentKey, a *allotment) {
	delete(c.allotments, key)
	a.set(0, 0)
	for g := range a.groups {
		delete(g.below, a)
	}
	if s := c.nodes.byID[a.node].sess; s != nil && a.told != 0 {
		s.put(&wire.Budget{UID: a.uid, Group: a.group.ID})
	}
}

// tellAllAgain tells a node that has come back.
func (c *core) tellAllAgain(id wire.NodeID) {
	for key, a := range c.allotments {
		if key.node == id {
			a.told = 0
			c.promise(a)
		}
	}
}
