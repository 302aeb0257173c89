package procevents

import "bproc/wire"

// traits are what a process inherits by fork and changes later.
type traits struct {
	pgid  wire.PID
	sid   wire.PID
	user  wire.IDs
	group wire.IDs
	image uint64 // names its command line; 0: the one it was started with
}

// unknownImage is the image of a ghost whose process could not be read in time.
const unknownImage = ^uint64(0)

// process is one process of the space.
type process struct {
	pid    wire.PID
	born   traits // at its birth
	traits traits // in the node's kernel, as far as was seen
	front  traits // of its ghost, once announced
	status wire.Status

	sibling bool     // made by CLONE_PARENT: a child of its maker's parent
	parent  *process // of a sibling; nil: not of this space

	launched  bool // started from the front end
	unnamed   bool // the group or session of the ghost that it descends from has no number
	starting  bool // launched, and its Spawned has not been reported
	ownExec   bool // launched, and the exec that is part of its start has not been seen
	unread    bool // init has reported this exec, and the kernel's record of it is still to come
	announced bool // the front end has a ghost for it, or will have after the events reported
	changing  bool // a change is in the queue
	dead      bool
	ending    bool // its end is in the queue
	reaped    bool // has been waited for, as of the last look
	zombie    bool // was reported as a zombie
	gone      bool // its end was reported, or it was born and died unreported
	waited    bool // its birth was put off once, since it has ended
	led       bool // has been seen in a group of its own
	reaper    bool // adopts orphans
	slow      bool // its ghost may show another command line: its own could not be read in time
	reread    bool // it is among those that are read again for that
	stop      int  // the signal that has stopped it; 0: it runs

	// Processes that are reported before it. They are kept until then, even if they are dead.
	maker  *process // the process that called clone; until its birth is reported
	leader *process // of its group, until that is reported
	needed int      // how many processes need this one
	tries  int      // how often its change has waited for the leader
	kids   int      // its children with births in the queue

	turns int    // number in the queue
	at    traits // its traits before the first of these

	shows  uint64 // the hash of what its ghost shows; 0: not known
	serial uint64 // of its birth
	died   uint64 // the serial of the last birth before its end
	birth  uint64 // as in wire.Event
	told   uint64 // number of the event of its birth; 0: not of this session
	family family
}

// goal returns the traits that its ghost must have when everything that is not held has been
// reported. While there are turns in the queue, these are the traits from before them.
func (p *process) goal() traits {
	if p.turns == 0 {
		return p.traits
	}
	goal := p.at
	goal.image = p.traits.image
	return goal
}

// moves reports whether p is in another group or session than its ghost.
func (p *process) moves() bool {
	goal := p.goal()
	return goal.pgid != p.front.pgid || goal.sid != p.front.sid
}

// bornAhead reports whether p was born into a group or session in which its maker is and its
// maker's ghost is not.
func (p *process) bornAhead() bool {
	now, front := p.maker.goal(), p.maker.front
	return p.born.sid == now.sid && now.sid != front.sid || p.born.pgid == now.pgid && now.pgid != front.pgid
}

// renamed reports whether p has other credentials than its ghost.
func (p *process) renamed() bool {
	goal := p.goal()
	return goal.user != p.front.user || goal.group != p.front.group
}

// unsettled reports whether the place of p is still to be reported.
func (p *process) unsettled() bool { return p != nil && (p.changing || !p.announced) }

// need counts a process that needs q.
func need(q *process) *process {
	if q != nil {
		q.needed++
	}
	return q
}

// release undoes need. A dead process that is no longer needed is dropped.
func (t *Tracker) release(q **process) {
	p := *q
	*q = nil
	if p == nil {
		return
	}
	p.needed--
	if p.dead && !p.announced && !p.gone && p.needed == 0 {
		t.short(p)
	}
}

// drop forgets a process that was never reported.
func (t *Tracker) drop(p *process) {
	p.gone = true
	t.forget(p)
	t.bury(p)
	t.release(&p.leader)
	p.maker.kids--
	t.release(&p.maker)
}

// alive returns the process with a number, if it lives.
func (t *Tracker) alive(pid wire.PID) *process {
	if p := t.procs[pid]; p != nil && !p.dead {
		return p
	}
	return nil
}

// see takes in the group and session that the kernel shows for p. A group other than p's own was
// made by its leader, so if the leader has not been seen in it, it counts as seen now.
func (t *Tracker) see(p *process, pgid, sid wire.PID) {
	if pgid == 0 || sid == 0 {
		return // the leader is outside of the space
	}
	if sid == p.pid && p.front.pgid == p.pid && p.moves() {
		t.settle() // the leader of a group must have left it before it calls setsid
	}
	if p.traits.pgid == p.pid && p.front.pgid != p.pid && pgid != p.pid {
		t.settle() // the group must exist for the members that its leader leaves in it
	}
	p.traits.pgid, p.traits.sid = pgid, sid
	t.release(&p.leader)
	p.tries = 0
	if pgid == p.pid {
		p.led = true
		return
	}
	leader := t.procs[pgid]
	p.leader = need(leader)
	if leader != nil && !leader.dead && !leader.led {
		leader.led, leader.traits.pgid = true, pgid
		t.changed(leader)
	}
}

// changed has the changes of p reported, unless the report of its birth is still to come and will
// include them.
func (t *Tracker) changed(p *process) {
	if p.announced && !p.changing && (p.moves() || p.renamed() || !p.dead && p.traits.image != p.front.image) {
		p.changing = true
		t.push(p, change)
	}
}
