package procevents

import "bproc/wire"

// The methods of this file take in what the daemon sees of a process after it has let a system call
// go on. Records from before must have been drained.

// Changed takes in the present group and session of a process, and nothing else of info.
func (t *Tracker) Changed(info ProcessInfo) {
	if p := t.alive(info.PID); p != nil && (p.traits.pgid != info.PGID || p.traits.sid != info.SID) {
		t.see(p, info.PGID, info.SID)
		t.changed(p)
	}
}

// User takes in the present credentials of a process.
func (t *Tracker) User(pid wire.PID, user, group wire.IDs) {
	if p := t.alive(pid); p != nil {
		p.traits.user, p.traits.group = user, group
		t.changed(p)
	}
}

// Reaper takes in whether a process adopts orphans: PR_SET_CHILD_SUBREAPER of prctl(2).
func (t *Tracker) Reaper(pid wire.PID, on bool) {
	p := t.alive(pid)
	if p == nil || p.reaper == on {
		return
	}
	p.reaper = on
	e := wire.Event{Kind: wire.EventReaper, PID: pid}
	if on {
		e.Status = 1
	}
	t.say(p, e)
}

// Death takes in which signal a process gets when its parent ends; 0: none. See PR_SET_PDEATHSIG of
// prctl(2).
func (t *Tracker) Death(pid wire.PID, signal int) {
	if p := t.alive(pid); p != nil {
		t.say(p, wire.Event{Kind: wire.EventDeath, PID: pid, Status: wire.Status(signal)})
	}
}

// say has e reported, in its place among the other events of p.
func (t *Tracker) say(p *process, e wire.Event) {
	t.enqueue(item{process: p, step: word, event: e})
}
