package procevents

import (
	"hash/maphash"
	"slices"

	"bproc/pidmap"
	"bproc/wire"
)

// tellBirth announces a process. Its maker has been announced: the maker's birth was before this
// one in the queue, and was not dropped because this one needs it. So has the parent, if it is
// another process: the maker, or the process that made it, is its child.
func (t *Tracker) tellBirth(p *process) {
	if p.gone || p.announced {
		return
	}
	t.settleNumber(p.pid, p.serial)
	if p.gone { // it had ended, and only one of those needed it
		return
	}
	t.started(p.maker)
	if p.bornAhead() {
		t.tellChange(p.maker) // ghosts inherit too
	}
	p.front, p.shows = p.maker.front, p.maker.shows
	if p.maker.slow { // the ghost inherits what its maker's shows
		t.readAgain(p)
	}
	p.announced = true
	t.enter(p)
	p.told = t.number()
	e := wire.Event{Kind: wire.EventForked, PID: p.pid, Parent: p.maker.pid}
	if p.sibling {
		e.Maker = p.maker.pid
		e.Parent = 0 // the parent has ended while this birth was put off
		if q := p.parent; q != nil && q.announced && !q.gone {
			e.Parent = q.pid
		}
	}
	p.parent = nil
	t.join(p, &e)
	p.rename(&e)
	if p.traits.image != p.front.image || p.maker.traits.image != p.maker.front.image {
		t.show(p, &e)
	}
	t.emit(p, e)
	p.maker.kids--
	t.release(&p.maker)
	if p.goal().pgid == p.front.pgid {
		t.release(&p.leader)
	}
	t.changed(p)
	if p.dead && !p.ending { // the birth was put off
		t.ends(p)
	}
}

// ends puts an end into the queue.
func (t *Tracker) ends(p *process) {
	p.ending = true
	t.push(p, end)
}

// maxTries bounds how often a change waits: once for p's own children, once each for its leader's
// birth, change and children. Without a bound two processes in each other's groups would wait
// forever.
const maxTries = 4

// behindKids puts a change of group or session behind the births of the children that were born
// into the old one: their ghosts must inherit it, and keep it from being empty.
func (t *Tracker) behindKids(p *process) bool {
	if p.kids == 0 || p.tries > 0 || !p.moves() {
		return false
	}
	p.tries++
	t.push(p, change)
	return true
}

// behindMembers puts an end behind the processes that are still to join the process's group: a
// group whose last ghost has gone cannot be joined any more.
func (t *Tracker) behindMembers(p *process) bool {
	if !t.wanted(p) || p.tries >= maxTries {
		return false
	}
	p.tries++
	t.ends(p)
	return true
}

// tellChange brings a ghost up to date with its process. The process may have gone since the change
// was put off, to make room for another.
func (t *Tracker) tellChange(p *process) {
	p.changing = false
	if p.gone {
		t.release(&p.leader)
		return
	}
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
	t.tellUser(p)
	if p.goal().pgid != p.front.pgid && p.leader.unsettled() && p.tries < maxTries {
		p.tries++
		t.changed(p) // comes again behind the leader
		return
	}
	t.release(&p.leader)
}

// tellUser brings the credentials of a ghost up to date.
func (t *Tracker) tellUser(p *process) {
	if p.renamed() {
		e := wire.Event{Kind: wire.EventUser, PID: p.pid}
		p.rename(&e)
		t.emit(p, e)
	}
}

// tellEnd ends a ghost. The event says how.
func (t *Tracker) tellEnd(p *process, how wire.Event) {
	how.Kind, how.PID = wire.EventExited, p.pid
	t.emit(p, how)
	if i := slices.Index(t.zombies, p); i >= 0 {
		t.zombies = slices.Delete(t.zombies, i, i+1)
	}
	t.leave(p)
	p.gone = true
	t.forget(p)
	t.bury(p)
}

// join puts into e what the ghost must do to get into the group and session of its process, if it
// can.
func (t *Tracker) join(p *process, e *wire.Event) {
	goal := p.goal()
	switch {
	case e.Kind == wire.EventForked && p.kids > 0:
		return // a change will follow, behind them
	case goal.sid == p.pid && p.front.sid != p.pid && t.groups[p.pid] > 0:
		return // not possible (setsid(2)): the ghost leads a group, and could not go back where it came from
	case goal.sid == p.pid && p.front.sid != p.pid:
		e.PGID, e.SID = p.pid, p.pid
	case goal.sid != p.front.sid:
		return
	case goal.pgid == p.front.pgid:
		return
	case goal.pgid != p.pid && !t.joinable(p):
		return
	default:
		e.PGID = goal.pgid
	}
	t.move(p, e)
}

// move takes in that a ghost is in the group and session of e.
func (t *Tracker) move(p *process, e *wire.Event) {
	t.leave(p)
	p.front.pgid = e.PGID
	if e.SID != 0 {
		p.front.sid = e.SID
	}
	t.enter(p)
}

// joinable reports whether the front end has the group that p is in. Of the front end's own groups
// the node knows only that p could join one, so it existed. A group without a ghost of its leader,
// which would have to make it, is a former one with the number.
func (t *Tracker) joinable(p *process) bool {
	pgid := p.goal().pgid
	if pgid < pidmap.Node {
		return !p.unnamed
	}
	leader := t.procs[pgid]
	return t.groups[pgid] > 0 && (leader == nil || leader.announced)
}

// rename puts into e the credentials that the ghost lacks.
func (p *process) rename(e *wire.Event) {
	goal := p.goal()
	if user := goal.user; user != p.front.user {
		e.User = &user
	}
	if group := goal.group; group != p.front.group {
		e.Group = &group
	}
	p.front.user, p.front.group = goal.user, goal.group
}

// enter counts a ghost into its group and session.
func (t *Tracker) enter(p *process) {
	t.groups[p.front.pgid]++
	t.sessions[p.front.sid]++
}

// leave counts a ghost out of them.
func (t *Tracker) leave(p *process) {
	count := func(all map[wire.PID]int, number wire.PID) {
		if all[number]--; all[number] == 0 {
			delete(all, number)
		}
	}
	count(t.groups, p.front.pgid)
	count(t.sessions, p.front.sid)
}

// show puts the image of p into e, for its ghost. It returns false if p is gone or if its ghost
// shows the same. The ghost must not execute anything then, because natively a parent may not put a
// child that has executed a program into another group (setpgid(2), EACCES).
//
// The image may be that of an exec that has not been taken in. Children that p forked before that
// exec do not look like this ghost. So the image gets a new name: children that are held now differ
// from it, and children whose births are yet to be taken in come with that exec, after which p
// itself differs.
func (t *Tracker) show(p *process, e *wire.Event) bool {
	im, ok := t.imageOf(p)
	if !ok {
		p.front.image = unknownImage
		return false
	}
	t.newImage(p)
	p.front.image = p.traits.image
	again := p.slow
	if p.slow = im.Slow && !p.dead; p.slow {
		if t.readAgain(p); !again {
			return false
		}
	}
	is := t.hash(&im)
	if is == p.shows {
		return false
	}
	p.shows = is
	e.Argv, e.Comm = im.Argv, im.Comm
	return true
}

// imageOf returns the image of a process. The image of a process that has ended can still be seen
// in a child that has executed nothing: its ghost inherits the image, and must not execute anything
// either (see show). Otherwise a zombie has a name only.
func (t *Tracker) imageOf(p *process) (Image, bool) {
	if !p.dead {
		return t.image(p.pid)
	}
	if p.kids > 0 {
		for _, q := range t.procs {
			if !q.dead && q.traits.image == p.traits.image {
				return t.image(q.pid)
			}
		}
	}
	if _, there := t.remains(p); !there {
		return Image{}, false
	}
	return t.image(p.pid)
}

// hash names what an image shows. No process can choose its seed, so no two images have the same
// hash.
func (t *Tracker) hash(im *Image) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, arg := range im.Argv {
		_, _ = h.WriteString(arg) // never fails, nor does the next
		_ = h.WriteByte(0)
	}
	_, _ = h.WriteString(im.Comm)
	return h.Sum64()
}

// started reports that p was started from the front end, if that has not been reported.
func (t *Tracker) started(p *process) {
	if p.starting {
		p.starting = false
		t.emit(p, wire.Event{Kind: wire.EventSpawned, PID: p.pid})
	}
}
