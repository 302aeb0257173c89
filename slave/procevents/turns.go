package procevents

import (
	"time"

	"bproc/wire"
)

// A change of group, session or credentials is a turn: it is reported separately, in its place.
// The front end's kernel decides what a ghost may do by the groups and credentials of that and
// other ghosts at the time. So the ghosts repeat one by one what the processes did: a group exists
// when it is joined, and keeps its last member until then.

// Observe takes in a state in which a process was seen, which may have ended, after everything that
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
	if is.PGID != 0 && is.SID != 0 { // else the leader is outside of the space
		to.pgid, to.sid = is.PGID, is.SID
	}
	t.turn(p, to, is.Parent)
}

// moved takes in the group and session that the kernel has noted of p.
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

// turn has a change of p reported, and p is needed for that. Only a parent can have changed a
// process that is known to be a zombie.
func (t *Tracker) turn(p *process, to traits, parent wire.PID) {
	if p.traits == to && (p.turns > 0 || !p.announced || !p.moves() && !p.renamed()) {
		return
	}
	// A group other than p's own was made by its leader, so if the leader has not been seen in it,
	// it counts as seen now.
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
	t.enqueue(item{process: p, step: turn, to: to, by: t.procs[parent]})
}

// tellTurn reports one change. A ghost that is a zombie can only be put into another group, by the
// ghost of its parent.
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

// mover returns the process whose ghost can move the ghost of p, a zombie: its parent, or the
// process that has adopted it since; 0: none.
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

// clear ends the ghosts of processes that have ended in a group that p is about to make by setsid.
// They have been waited for, or the group would still exist (setsid(2)).
func (t *Tracker) clear(p *process) {
	for _, q := range t.ghosts(func(q *process) bool { return q != p && q.dead && q.front.pgid == p.pid }) {
		t.part(q)
	}
}

// turning puts the end of p behind its changes that were seen after it. Other changes are reported
// now.
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
