package procevents

import (
	"time"

	"bproc/wire"
)

// A change of group, session or credentials is a turn: it is told by itself, in its
// place. What the front end's kernel allows a ghost depends on where that and others are
// by then, so the ghosts do one by one what the processes did: a group is there when it
// is joined, and has its last member for as long.

// Observe says what a process was seen to be, which may have ended, after everything that
// was given to Record before.
func (t *Tracker) Observe(is ProcessInfo, now time.Time) {
	t.advance(now)
	p := t.procs[is.PID]
	if p == nil || p.gone || p.ownExec {
		return
	}
	t.scan.heard(p, newsPlace|newsUser)
	to := p.traits
	to.user, to.group = is.User, is.Group
	if is.PGID != 0 && is.SID != 0 { // else it is led by somebody outside of the space
		to.pgid, to.sid = is.PGID, is.SID
	}
	t.turn(p, to, is.Parent)
}

// moved says in which group and session the kernel has noted p to be.
func (t *Tracker) moved(p *process, pgid, sid wire.PID) {
	if p.ownExec {
		t.see(p, pgid, sid)
		return
	}
	to := p.traits
	if pgid != 0 && sid != 0 {
		to.pgid, to.sid = pgid, sid
	}
	t.turn(p, to, 0)
}

// turn has a change of p told, who is needed for that. Only a parent can have changed one
// that is known to be a zombie.
func (t *Tracker) turn(p *process, to traits, parent wire.PID) {
	if p.traits == to && (p.turns > 0 || !p.announced || !p.moves() && !p.renamed()) {
		return
	}
	// A group other than p's own was made by its leader, so if the leader was never seen
	// in it, it is now.
	if leader := t.alive(to.pgid); leader != nil && leader != p && !leader.led {
		led := leader.traits
		led.pgid = to.pgid
		t.turn(leader, led, 0)
	}
	if p.turns == 0 {
		p.at = p.traits
	}
	p.led = p.led || to.pgid == p.pid
	p.traits = to
	p.turns++
	need(p)
	t.release(&p.leader)
	t.queue.push(item{process: p, step: turn, to: to, by: t.procs[parent], since: t.clock, at: t.at})
}

// tellTurn tells one change. A ghost that is a zombie can only be put into another group,
// by that of its parent.
func (t *Tracker) tellTurn(it item) {
	p := it.process
	p.turns--
	p.at = it.to
	switch {
	case p.gone || !p.announced:
	case p.zombie:
		e := wire.Event{Kind: wire.EventGrouped, PID: p.pid, Maker: t.mover(p, it.by)}
		if e.Maker == 0 || p.goal().sid != p.front.sid {
			break
		}
		if t.join(p, &e); e.PGID != 0 {
			t.emit(p, e)
		}
	default:
		t.started(p)
		if p.at.sid == p.pid && p.front.sid != p.pid {
			t.clear(p)
		}
		e := wire.Event{Kind: wire.EventGrouped, PID: p.pid}
		if t.join(p, &e); e.PGID != 0 {
			t.emit(p, e)
		}
		t.tellUser(p)
	}
	t.release(&p)
}

// mover returns whose ghost can move that of p, a zombie: its parent's, or that of who has
// adopted it since; 0: nobody's.
func (t *Tracker) mover(p, parent *process) wire.PID {
	if parent != nil && (parent.zombie || parent.gone) {
		is, _ := t.remains(p)
		parent = t.procs[is.Parent]
	}
	if parent == nil || !parent.announced || parent.zombie || parent.gone {
		return 0
	}
	return parent.pid
}

// clear ends the ghosts of those who have ended in a group that p is about to make by
// setsid: they have been waited for, or there would be one (setsid(2)).
func (t *Tracker) clear(p *process) {
	for _, q := range t.ghosts(func(q *process) bool { return q != p && q.dead && q.front.pgid == p.pid }) {
		t.part(q)
	}
}

// turning puts the end of p behind those of its changes that were seen after it. What else
// has changed is told now.
func (t *Tracker) turning(p *process) bool {
	if p.changing {
		t.tellChange(p)
	}
	if !p.changing && p.turns == 0 {
		return false
	}
	t.ends(p)
	return true
}
