package procevents

import "bproc/wire"

// forked takes in a birth.
func (t *Tracker) forked(r Record) {
	if t.launched(r.PID) != nil {
		return // init reports it
	}
	t.vacate(r.PID)
	parent, creator := t.alive(r.Parent), t.alive(r.Creator)
	sibling := creator != nil && creator != parent // by CLONE_PARENT
	if creator == nil {
		creator = parent
	}
	if creator == nil {
		t.scan.miss(r)
		return // a child of init itself, or of a process that came in from outside
	}
	t.scan.heard(creator, newsPlace)
	// The child's group and session are its creator's at this moment.
	t.moved(creator, r.PGID, r.SID)
	p := t.add(r.PID, creator, creator.traits)
	p.traits.user, p.traits.group = r.User, r.Group // of the thread that called clone
	p.unnamed = creator.unnamed
	p.sibling = sibling
	p.parent = parent // nil: init, which has no ghost, or a process that has just ended
}

// add enters a process that was not started from the front end.
func (t *Tracker) add(pid wire.PID, maker *process, inherited traits) *process {
	t.births++
	p := &process{pid: pid, maker: need(maker), born: inherited, traits: inherited, serial: t.births, birth: t.first + t.births}
	maker.kids++
	maker.adopt(p)
	t.procs[pid] = p
	t.see(p, inherited.pgid, inherited.sid)
	t.push(p, birth)
	return p
}

// execed takes in that a process executes another program.
func (t *Tracker) execed(r Record) {
	p := t.alive(r.PID)
	if p == nil {
		t.scan.miss(r)
		return
	}
	t.scan.heard(p, newsPlace|newsImage|newsUser)
	t.moved(p, r.PGID, r.SID)
	p.traits.user, p.traits.group = r.User, r.Group
	if p.ownExec || p.unread {
		p.ownExec, p.unread = false, false
	} else {
		t.newImage(p)
	}
	t.changed(p)
}

func (t *Tracker) newImage(p *process) {
	t.images++
	p.traits.image = t.images
}

// exited takes in an end. Init reports the status of a process that was started from the front end.
func (t *Tracker) exited(r Record) {
	p := t.alive(r.PID)
	switch {
	case p == nil:
		t.scan.miss(r)
	case !p.launched:
		t.died(p, r.Status)
	}
}

func (t *Tracker) died(p *process, status wire.Status) {
	p.dead, p.status, p.died = true, status, t.births
	t.scan.ended(p)
	t.release(&p.leader)
	t.ends(p) // in its place: soon another process may adopt its children
	if !p.announced && p.needed == 0 {
		t.short(p)
	}
}
