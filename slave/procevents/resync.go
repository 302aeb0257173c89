package procevents

import (
	"maps"
	"slices"

	"bproc/pidmap"
	"bproc/slave/core"
	"bproc/wire"
)

// ProcessInfo is one process of the space as its /proc shows it.
type ProcessInfo struct {
	PID    wire.PID
	Parent wire.PID
	PGID   wire.PID
	SID    wire.PID
	User   wire.IDs
	Group  wire.IDs
	State  byte // of its first thread, as in proc_pid_stat(5)
	Stop   int  // the signal that has stopped it, if State is T
	Ending bool // its first thread is about to end, or, by Process, its only one: that may have been noted
}

// scan is what has happened since a scan of all processes began.
type scan struct {
	mark  uint64 // serial of the last birth before the scan
	gone  map[wire.PID]bool
	newer map[*process]news // what has been noted of processes since

	missed []Record // records of unknown processes, in their order
}

// news is what was noted of a process.
type news uint8

const (
	newsPlace news = 1 << iota // its group and session
	newsImage                  // its program
	newsUser                   // its credentials
	newsStop                   // whether it is stopped
)

func (s *scan) ended(p *process) {
	if s != nil {
		s.gone[p.pid] = true
	}
}

func (s *scan) heard(p *process, what news) {
	if s != nil {
		s.newer[p] |= what
	}
}

// miss keeps a record of an unknown process: its birth may be among the records that were lost, and
// the process among those that were seen. If it has ended, it was seen before that.
func (s *scan) miss(r Record) {
	switch {
	case s == nil:
	case r.Kind == Exited:
		s.gone[r.PID] = true
	default:
		s.missed = append(s.missed, r)
	}
}

// BeginScan is the first of four steps after records were lost:
//
//	BeginScan; scan all processes; Read into Record; Resync
//
// Records that come in between are known to be newer than the scan of the processes.
func (t *Tracker) BeginScan() {
	t.scan = &scan{mark: t.births, gone: make(map[wire.PID]bool), newer: make(map[*process]news)}
}

// EndScan takes the place of the last step if no records were lost, but processes may have changed
// when there were none. For the processes seen it takes in what the kernel has not noted since.
func (t *Tracker) EndScan(seen []ProcessInfo) {
	since := t.scan
	t.scan = nil
	for _, s := range seen {
		p := t.alive(s.PID)
		if since == nil || p == nil || since.gone[s.PID] || p.serial > since.mark {
			continue
		}
		newer := since.newer[p]
		if newer&newsPlace == 0 {
			t.Changed(s)
		}
		if newer&newsUser == 0 {
			t.User(s.PID, s.User, s.Group)
		}
	}
}

// Resync makes up for lost records from a scan of all processes that was made after BeginScan;
// zombies must not be among them. A process that was never reported becomes a child of its parent
// or, if that is gone, of another process of its session. Resync returns the processes that have
// neither: the front end cannot have ghosts for them.
func (t *Tracker) Resync(seen []ProcessInfo) (unplaced []wire.PID) {
	if t.scan == nil {
		return nil
	}
	look := look{
		Tracker: t, since: t.scan, there: make(map[wire.PID]ProcessInfo, len(seen)),
		placed: make(map[wire.PID]bool), added: make(map[wire.PID]bool),
	}
	t.scan = nil
	for _, s := range seen {
		look.there[s.PID] = s
	}
	look.endMissing()
	for _, s := range seen {
		if s.Parent == 0 || look.since.gone[s.PID] || s.PID < pidmap.Node && t.launched(s.PID) == nil {
			continue // from outside; ended; or init's own
		}
		if look.place(s) == nil && !s.Ending {
			unplaced = append(unplaced, s.PID)
		}
	}
	look.catchUp()
	return unplaced
}

// look is a scan of all processes that is being taken in.
type look struct {
	*Tracker

	since  *scan
	there  map[wire.PID]ProcessInfo
	placed map[wire.PID]bool
	added  map[wire.PID]bool // processes that were never reported
}

// endMissing ends the processes that have disappeared. Init reports the ends of processes that were
// started from the front end.
func (l *look) endMissing() {
	for _, pid := range slices.Sorted(maps.Keys(l.procs)) {
		p := l.procs[pid]
		if p == nil || p.launched || p.dead || p.serial > l.since.mark {
			continue
		}
		if _, ok := l.there[pid]; !ok {
			l.died(p, lostStatus)
		}
	}
}

// place enters one process into the table, after its parent. It leaves out an unknown process that
// is about to end: the process may have been known, and its end noted.
//
// A process with the number of a known one is taken for that one. It could be another only if the
// end was among the records that were lost, for which there is room when there is none for others,
// and all other numbers of the node have been given since.
func (l *look) place(s ProcessInfo) *process {
	p := l.alive(s.PID)
	if l.placed[s.PID] || p != nil && (p.serial > l.since.mark || p.ownExec) {
		return p // known as it is now, or on its way to its command
	}
	l.placed[s.PID] = true
	if p == nil {
		if s.Ending || l.since.gone[s.PID] {
			return nil
		}
		parent := l.parent(s)
		if parent == nil {
			return nil
		}
		inherited := parent.traits
		if s.SID != s.PID {
			inherited.sid = s.SID // a process can leave the session of its birth only for one of its own
		}
		l.vacate(s.PID)
		p = l.add(s.PID, parent, inherited)
		p.unnamed = parent.unnamed
		l.added[s.PID] = true
	}
	l.update(p, s)
	return p
}

// catchUp takes in the records of added processes from before they were known.
func (l *look) catchUp() {
	for _, r := range l.since.missed {
		switch {
		case r.Kind != Forked:
			if l.added[r.PID] {
				l.note(r)
			}
		case l.since.gone[r.PID], l.alive(r.PID) != nil: // it has ended; it was seen
		case l.added[r.Creator], l.added[r.Parent]:
			l.note(r)
			l.added[r.PID] = true
		}
	}
}

// update takes in what was seen of a process and not noted since.
func (l *look) update(p *process, s ProcessInfo) {
	newer := l.since.newer[p]
	p.unread = false // the record may have been lost
	if newer&newsPlace == 0 {
		l.see(p, s.PGID, s.SID)
	}
	if newer&newsUser == 0 {
		p.traits.user, p.traits.group = s.User, s.Group
	}
	if newer&newsImage == 0 {
		l.newImage(p) // it may have executed something unseen
	}
	l.changed(p)
	if newer&newsStop != 0 {
		return
	}
	switch s.State {
	case 'T':
		l.halt(p, s.Stop)
	case 't', 'Z': // its tracer or its other threads know
	default:
		l.resume(p)
	}
}

// parent returns the parent for a process that was never reported.
func (l *look) parent(s ProcessInfo) *process {
	if p := l.alive(s.Parent); p != nil {
		return p
	}
	if info, ok := l.there[s.Parent]; ok && s.Parent >= pidmap.Node {
		if p := l.place(info); p != nil {
			return p
		}
	}
	for _, pid := range []wire.PID{s.SID, s.PGID} {
		if p := l.alive(pid); p != nil {
			return p
		}
	}
	var found *process
	for _, p := range l.procs {
		if p.launched && !p.dead && p.traits.sid == s.SID && s.SID != core.InitSession && nearer(p, found, s.PGID) {
			found = p
		}
	}
	return found
}

// nearer reports whether p rather than q must adopt a process of a group.
func nearer(p, q *process, group wire.PID) bool {
	if q == nil || p.traits.pgid == group != (q.traits.pgid == group) {
		return q == nil || p.traits.pgid == group
	}
	return p.pid < q.pid
}
