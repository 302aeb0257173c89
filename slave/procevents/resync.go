package procevents

import (
	"maps"
	"slices"

	"bproc/wire"
)

// ProcessInfo is one process of the space as its /proc shows it.
type ProcessInfo struct {
	PID    wire.PID
	Parent wire.PID
	PGID   wire.PID
	SID    wire.PID
}

// scan is what has happened since a look at all processes was begun.
type scan struct {
	mark uint64 // serial of the last birth before
	gone map[wire.PID]bool
}

func (s *scan) ended(pid wire.PID) {
	if s != nil {
		s.gone[pid] = true
	}
}

// BeginScan is the first of four steps after records were lost:
//
//	BeginScan; look at all processes; Drain into Record; Resync
//
// What comes in between is known to be newer than the look at the processes.
func (t *Tracker) BeginScan() {
	t.scan = &scan{mark: t.births, gone: make(map[wire.PID]bool)}
}

// Resync makes up for lost records from a look at all processes that was made
// after BeginScan; zombies must not be among them. A process that nobody was told
// of becomes a child of its parent or, where that is gone, of the leader of its
// session or group. Those for which there is none of these are returned: the front
// end cannot have a ghost for them.
func (t *Tracker) Resync(seen []ProcessInfo) (unplaced []wire.PID) {
	if t.scan == nil {
		return nil
	}
	since := t.scan
	t.scan = nil
	there := make(map[wire.PID]ProcessInfo, len(seen))
	for _, s := range seen {
		there[s.PID] = s
	}
	for _, pid := range slices.Sorted(maps.Keys(t.procs)) {
		p := t.procs[pid]
		if p == nil || p.launched || p.dead || p.serial > since.mark {
			continue
		}
		if _, ok := there[pid]; !ok {
			t.died(p, lostStatus)
		}
	}
	visited := make(map[wire.PID]bool)
	for _, s := range seen {
		switch {
		case s.PID == 1 || s.Parent == 0 || since.gone[s.PID]:
		case t.place(s, there, visited) == nil:
			unplaced = append(unplaced, s.PID)
		}
	}
	return unplaced
}

// place brings one process of a scan into the table, its parent before it.
func (t *Tracker) place(s ProcessInfo, there map[wire.PID]ProcessInfo, visited map[wire.PID]bool) *process {
	p := t.alive(s.PID)
	if visited[s.PID] {
		return p
	}
	visited[s.PID] = true
	if p == nil {
		parent := t.alive(s.Parent)
		if info, ok := there[s.Parent]; parent == nil && ok && s.Parent != 1 {
			parent = t.place(info, there, visited)
		}
		for _, pid := range []wire.PID{s.SID, s.PGID} {
			if parent == nil {
				parent = t.alive(pid)
			}
		}
		if parent == nil {
			return nil
		}
		inherited := parent.traits
		if s.SID != s.PID {
			inherited.sid = s.SID // one can only leave the session one was born into for one's own
		}
		t.vacate(s.PID)
		p = t.add(s.PID, parent, inherited)
		p.unnamed = parent.unnamed
	}
	t.see(p, s.PGID, s.SID)
	if !p.ownExec {
		t.newImage(p) // it may have executed something unseen
	}
	t.changed(p)
	return p
}
