package procevents

import (
	"cmp"
	"slices"

	"bproc/slave/core"
	"bproc/wire"
)

// family is a process's place in the tree of births. It outlives the process while there are
// descendants, see [Tracker.Late].
type family struct {
	ancestor *process // its parent in the tree; nil: none, or long gone
	child    *process // the youngest
	older    *process // sibling
	younger  *process // sibling
}

// adopt makes c, which has no ancestor, the youngest child of p.
func (p *process) adopt(c *process) {
	c.family.ancestor = p
	if c.family.older = p.family.child; c.family.older != nil {
		c.family.older.family.younger = c
	}
	p.family.child = c
}

// depart takes p, which has no children, out of the tree.
func (p *process) depart() {
	f := &p.family
	switch {
	case f.younger != nil:
		f.younger.family.older = f.older
	case f.ancestor != nil:
		f.ancestor.family.child = f.older
	}
	if f.older != nil {
		f.older.family.younger = f.younger
	}
	f.ancestor, f.older, f.younger = nil, nil, nil
}

// maxBuried bounds how many processes are kept that have ended before their children. More are
// needed only if that many such ends are reported within the time that the front end takes to hear
// of them and to send a signal back.
const maxBuried = 1024

// bury takes p, which is gone, out of the tree, or keeps it for Late if it has descendants.
func (t *Tracker) bury(p *process) {
	if p.family.child != nil {
		t.buried = append(t.buried, p)
		if len(t.buried) > maxBuried {
			t.unearth(t.buried[0])
		}
		return
	}
	ancestor := p.family.ancestor
	p.depart()
	for ancestor != nil && ancestor.gone && ancestor.family.child == nil {
		ancestor = t.unearth(ancestor)
	}
}

// unearth takes a buried process out of the tree. Its children go to its ancestor, which is
// returned.
func (t *Tracker) unearth(p *process) *process {
	i := slices.Index(t.buried, p)
	t.buried = slices.Delete(t.buried, i, i+1)
	ancestor := p.family.ancestor
	for c := p.family.child; c != nil; c = p.family.child {
		c.depart()
		if ancestor != nil {
			ancestor.adopt(c)
		}
	}
	p.depart()
	return ancestor
}

// owners returns the processes with a number that were reported to the front end and are not
// forgotten, the youngest first.
func (t *Tracker) owners(pid wire.PID) (all []*process) {
	for _, p := range t.buried {
		if p.pid == pid {
			all = append(all, p)
		}
	}
	all = append(all, t.parted[pid]...)
	if p := t.procs[pid]; p != nil {
		all = append(all, p)
	}
	all = slices.DeleteFunc(all, func(p *process) bool { return !p.announced })
	slices.SortFunc(all, func(p, q *process) int { return cmp.Compare(q.serial, p.serial) })
	return all
}

// Late returns the descendants of a process that are in its group and had no ghosts yet when its
// ghost got a signal for the group on the front end, which had handled all events up to seen.
// Descendants of another ghost that got the signal are left to that ghost. Those to
// whom its sender, a user, may not be allowed to send it are not among them (kill(2)).
func (t *Tracker) Late(pid wire.PID, seen uint64, sender uint32) []wire.PID {
	owners := t.owners(pid)
	i := slices.IndexFunc(owners, func(p *process) bool { return p.told <= seen })
	if i < 0 {
		return nil
	}
	p := owners[i]
	var late []wire.PID
	for _, q := range p.late(p.front.pgid, seen, nil) {
		if to := q.traits.user; sender == 0 || sender == to.Real || sender == to.Saved || to == p.traits.user {
			late = append(late, q.pid)
		}
	}
	slices.Sort(late)
	return late
}

// Meant reports whether a number has not passed to another process since the front end had handled
// the events up to seen. A process that was born later was not known by then.
func (t *Tracker) Meant(pid wire.PID, seen uint64) bool {
	p := t.procs[pid]
	return p == nil || p.announced && p.told <= seen
}

// Offspring returns the process whose birth is an event, if it lives, and its descendants in its
// group, ordered by number. Its number may have passed to another process by now.
func (t *Tracker) Offspring(pid wire.PID, birth uint64) []core.Born {
	owners := t.owners(pid)
	i := slices.IndexFunc(owners, func(p *process) bool { return p.told == birth })
	if i < 0 {
		return nil
	}
	p := owners[i]
	var all []*process
	if !p.dead {
		all = append(all, p)
	}
	var born []core.Born
	for _, q := range p.late(p.front.pgid, birth, all) {
		born = append(born, core.Born{PID: q.pid, Birth: q.birth})
	}
	slices.SortFunc(born, func(a, b core.Born) int { return cmp.Compare(a.PID, b.PID) })
	return born
}

func (p *process) late(group wire.PID, seen uint64, late []*process) []*process {
	for c := p.family.child; c != nil; c = c.family.older {
		seesIt := c.announced && c.told <= seen
		if seesIt && c.front.pgid == group {
			continue
		}
		if !seesIt && !c.dead && c.traits.pgid == group {
			late = append(late, c)
		}
		late = c.late(group, seen, late)
	}
	return late
}
