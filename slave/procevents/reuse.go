package procevents

import (
	"cmp"
	"slices"

	"bproc/wire"
)

// A number is used again when its last owner, its group and its session have gone from the node. On
// the front end all three may still exist: their ends are held, or a ghost is kept for a process
// that is still to be reported. That lasts until the number's next owner is reported, if ever:
// everything from before is ahead of it in the queue, and is reported in its order. What was put
// off is reported then, and no more than that.

// vacate takes the last owner of a number that is used again off the table.
func (t *Tracker) vacate(pid wire.PID) {
	old := t.procs[pid]
	if old == nil {
		return
	}
	if !old.dead {
		t.died(old, lostStatus)
	}
	old.reaped = true
	switch {
	case old.gone: // no process has needed it
	case !old.announced && old.needed == 0:
		t.drop(old)
	default:
		delete(t.procs, pid)
		t.parted[pid] = append(t.parted[pid], old)
	}
}

// forget takes p, which is gone, off the table, or off that of the former owners of numbers.
func (t *Tracker) forget(p *process) {
	if t.procs[p.pid] == p {
		delete(t.procs, p.pid)
		return
	}
	rest := slices.DeleteFunc(t.parted[p.pid], func(q *process) bool { return q == p })
	if t.parted[p.pid] = rest; len(rest) == 0 {
		delete(t.parted, p.pid)
	}
}

// ghosts returns all processes that the front end knows, or those that f chooses, in the order of
// their births.
func (t *Tracker) ghosts(f func(*process) bool) (all []*process) {
	choose := func(p *process) {
		if p.announced && !p.gone && (f == nil || f(p)) {
			all = append(all, p)
		}
	}
	for _, p := range t.procs {
		choose(p)
	}
	for _, former := range t.parted {
		for _, p := range former {
			choose(p)
		}
	}
	slices.SortFunc(all, func(p, q *process) int { return cmp.Compare(p.serial, q.serial) })
	return all
}

// settleNumber makes a number free on the front end, for a process with the given serial: no ghost
// has it or is in a group or session with it.
func (t *Tracker) settleNumber(pid wire.PID, serial uint64) {
	for _, p := range slices.Clone(t.parted[pid]) {
		if p.serial < serial {
			t.part(p)
		}
	}
	if t.groups[pid] == 0 && t.sessions[pid] == 0 {
		return
	}
	for _, p := range t.ghosts(func(p *process) bool { return p.front.pgid == pid || p.front.sid == pid }) {
		if !p.gone {
			t.evict(p, pid, serial)
		}
	}
}

// part reports the end of a process that has ended and has been waited for. Processes that need its
// ghost, or its group if it is the last there, come first.
func (t *Tracker) part(p *process) {
	kids := t.unborn(p)
	if !p.announced && len(kids) == 0 {
		t.drop(p)
		return
	}
	t.tellBirth(p)
	for _, q := range kids {
		t.tellBirth(q)
	}
	for _, q := range t.joining(p.front.pgid) {
		t.tellChange(q)
	}
	t.tellEnd(p, wire.Event{Status: p.status})
}

// unborn returns the children of p whose births were not reported.
func (t *Tracker) unborn(p *process) (kids []*process) {
	if p.kids == 0 {
		return nil
	}
	for _, it := range t.queue.items {
		if q := it.process; it.step == birth && q.maker == p {
			kids = append(kids, q)
		}
	}
	return kids
}

// joining returns the processes with a change put off that brings them into a group, if the group
// has only one ghost.
func (t *Tracker) joining(pgid wire.PID) (all []*process) {
	if t.groups[pgid] != 1 {
		return nil
	}
	for _, it := range t.queue.items {
		p := it.process
		if it.step == change && p.changing && !p.gone && p.goal().pgid == pgid && p.front.pgid != pgid {
			all = append(all, p)
		}
	}
	return all
}

// evict takes a ghost out of a group and session that have been gone from the node since before the
// birth with the given serial.
func (t *Tracker) evict(p *process, number wire.PID, serial uint64) {
	goal := p.goal()
	in := goal.pgid == number || goal.sid == number
	if p.zombie || p.dead && p.died < serial && in {
		t.part(p)
		return
	}
	t.tellChange(p)
	if p.front.pgid != number && p.front.sid != number {
		return
	}
	// It could not go where its process is, so it goes to a group of its own meanwhile.
	e := wire.Event{Kind: wire.EventGrouped, PID: p.pid, PGID: p.pid}
	if p.front.sid == number {
		e.SID = p.pid
	}
	t.move(p, &e)
	t.emit(p, e)
	t.changed(p)
}
