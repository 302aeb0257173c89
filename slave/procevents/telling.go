package procevents

import (
	"slices"

	"bproc/pidmap"
	"bproc/wire"
)

// tellBirth announces a process. Its maker has been announced: its birth was
// before this one in the queue, and it was not dropped because this one needs it.
// So has the parent, where that is another: the maker, or who made that, is a child
// of its.
func (t *Tracker) tellBirth(p *process) {
	if p.gone {
		return
	}
	t.started(p.maker)
	if p.bornAhead() {
		t.tellChange(p.maker) // ghosts inherit too
	}
	p.front = p.maker.front
	p.announced = true
	t.groups[p.front.pgid]++
	p.told = t.number()
	e := wire.Event{Kind: wire.EventForked, PID: p.pid, Parent: p.maker.pid}
	if p.sibling {
		e.Parent, e.Maker = p.parent, p.maker.pid
		if q := t.procs[p.parent]; q == nil || !q.announced {
			e.Parent = 0 // it has ended, while this birth was put off
		}
	}
	t.join(p, &e)
	p.rename(&e)
	if p.traits.image != p.front.image || p.maker.traits.image != p.maker.front.image {
		t.show(p, &e)
	}
	t.emit(p, e)
	p.maker.kids--
	t.release(&p.maker)
	if p.traits.pgid == p.front.pgid {
		t.release(&p.leader)
	}
	t.changed(p)
	if p.dead {
		t.push(p, end)
	}
}

// maxTries bounds how often a change waits: once for p's own children, once each
// for its leader's birth, change and children. Without a bound two that are in each
// other's groups would wait for ever.
const maxTries = 4

// behindKids puts a change of group or session behind those children that were born
// into the old one: their ghosts are to inherit it, and keep it from being empty.
func (t *Tracker) behindKids(p *process) bool {
	if p.kids == 0 || p.tries > 0 || !p.moves() {
		return false
	}
	p.tries++
	t.push(p, change)
	return true
}

// behindMembers puts an end behind the change that makes the process's group, and
// behind those who are still to join it: a group whose last ghost has gone cannot be
// joined any more.
func (t *Tracker) behindMembers(p *process) bool {
	needed := p.needed > 0 || t.groups[p.front.pgid] == 1 && t.queue.joins(p.front.pgid)
	if !p.changing && (!needed || p.tries >= maxTries) {
		return false
	}
	p.tries++
	t.push(p, end)
	return true
}

// tellChange brings a ghost up to date with its process.
func (t *Tracker) tellChange(p *process) {
	p.changing = false
	t.started(p)
	e := wire.Event{Kind: wire.EventGrouped, PID: p.pid}
	t.join(p, &e)
	if p.traits.image != p.front.image {
		if t.show(p, &e) {
			e.Kind = wire.EventExeced
		}
	}
	if e.Kind == wire.EventExeced {
		p.rename(&e)
	}
	if e.Kind == wire.EventExeced || e.PGID != 0 {
		t.emit(p, e)
	}
	if p.renamed() {
		e := wire.Event{Kind: wire.EventUser, PID: p.pid}
		p.rename(&e)
		t.emit(p, e)
	}
	if p.traits.pgid != p.front.pgid && p.leader.unsettled() && p.tries < maxTries {
		p.tries++
		t.changed(p) // comes again behind the leader
		return
	}
	t.release(&p.leader)
}

// tellEnd ends a ghost.
func (t *Tracker) tellEnd(p *process, status wire.Status) {
	t.emit(p, wire.Event{Kind: wire.EventExited, PID: p.pid, Status: status})
	if i := slices.Index(t.zombies, p); i >= 0 {
		t.zombies = slices.Delete(t.zombies, i, i+1)
	}
	t.leave(p.front.pgid)
	p.gone = true
	t.forget(p)
	t.bury(p)
}

// join puts into e what the ghost must do to be in the group and session of its
// process, if it can.
func (t *Tracker) join(p *process, e *wire.Event) {
	switch {
	case e.Kind == wire.EventForked && p.kids > 0:
		return // a change will follow, behind them
	case p.traits.sid == p.pid && p.front.sid != p.pid:
		e.PGID, e.SID = p.pid, p.pid
		p.front.sid = p.pid
	case p.traits.sid != p.front.sid:
		return
	case p.traits.pgid == p.front.pgid:
		return
	case p.traits.pgid != p.pid && !t.joinable(p):
		return
	default:
		e.PGID = p.traits.pgid
	}
	t.leave(p.front.pgid)
	p.front.pgid = e.PGID
	t.groups[e.PGID]++
}

// joinable reports whether the front end has the group that p is in. Of its own
// groups the node knows no more than that p could join one, so it was there.
func (t *Tracker) joinable(p *process) bool {
	if p.traits.pgid < pidmap.Node {
		return !p.unnamed
	}
	return t.groups[p.traits.pgid] > 0
}

// rename puts into e those credentials that the ghost has not.
func (p *process) rename(e *wire.Event) {
	if user := p.traits.user; user != p.front.user {
		e.User = &user
	}
	if group := p.traits.group; group != p.front.group {
		e.Group = &group
	}
	p.front.user, p.front.group = p.traits.user, p.traits.group
}

// leave counts a ghost out of a group.
func (t *Tracker) leave(pgid wire.PID) {
	t.groups[pgid]--
	if t.groups[pgid] == 0 {
		delete(t.groups, pgid)
	}
}

// show puts the image of p into e, for its ghost; false: p has none any more.
//
// The answer may be that of an exec which has not been taken in, and whoever p
// forked before that is not like this ghost. So the image gets a new name: children
// that are held now differ from it, and those whose births are yet to be taken in
// come with that exec, after which p itself differs.
func (t *Tracker) show(p *process, e *wire.Event) bool {
	if !p.dead {
		if im, ok := t.image(p.pid); ok {
			t.newImage(p)
			p.front.image = p.traits.image
			e.Argv, e.Comm = im.Argv, im.Comm
			return true
		}
	}
	p.front.image = unknownImage
	return false
}

// started tells that p was started from the front end, if that is still to be told.
func (t *Tracker) started(p *process) {
	if p.starting {
		p.starting = false
		t.emit(p, wire.Event{Kind: wire.EventSpawned, PID: p.pid})
	}
}
