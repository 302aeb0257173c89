package ghost

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/internal/procstat"
	"bproc/wire"
)

// tree is a set of ghosts that have made one another. Requests about it are carried out in their
// order; trees do not wait for each other.
//
// A ghost may not stop when it should, because its control group is frozen, or because it gets no
// processor. Then requests about its tree wait. After a time they are answered nevertheless, since
// the master releases nothing that a node says before all earlier requests have had their effect:
// the ghost catches up when it runs again.
type tree struct {
	at      *worker   // that waits for a ghost of the tree; nil: none does
	waiting []request // requests about the tree meanwhile
	size    int       // of waiting, in bytes
	late    bool      // requests are answered before they are carried out
	stuck   bool      // no further requests that must be answered are taken
	early   int       // number of requests answered before they are carried out
	lates   int       // number of times it has been late

	coming []wire.PID // ghosts that it is to make, see shard.coming
}

// lateTime is how long the master waits for a ghost that does nothing; less for one that has been
// late before. A ghost that gets a flood of signals may take maxLate for a request. On a busy
// machine a ghost may be late and still go on: it is stuck after stuckTime.
const (
	lateTime   = time.Second
	stuckTime  = 6 * lateTime // longer than roomTime
	leastStuck = time.Second  // even of a ghost that is often late
	maxLate    = 10 * time.Second
)

// maxEarly bounds the requests that are answered before they are carried out. Beyond it, a node is
// as slow as the ghosts of its processes.
const maxEarly = 512

// maxBehind and maxBehindSize bound the requests that wait for a ghost, except those that end
// ghosts.
const (
	maxBehind     = maxRequests
	maxBehindSize = 16 << 20
)

// lateAt and stuckAt report whether a tree is late or stuck after a time without a stop of a ghost. One
// that merely gets no processor has the whole stuckTime, however often it has been late.
func (t *tree) lateAt(d time.Duration) bool { return d >= lateTime>>min(t.lates, 5) }

func (t *tree) stuckAt(d time.Duration, ghost wire.PID) bool {
	return d >= stuckTime || d >= max(stuckTime>>min(t.lates-1, 5), leastStuck) && !isReady(ghost)
}

// isReady reports whether a process waits only for a processor, or has stopped, which this one has not
// seen yet.
func isReady(pid wire.PID) bool {
	text, err := readProc(pid, "stat")
	if err != nil {
		return true // it has ended
	}
	state := procstat.Stat(text).Field(procstat.State)
	return string(state) == "R" || string(state) == "t"
}

// treeOf returns the tree that a request is about; nil: none yet.
func (s *shard) treeOf(m wire.Message) *tree {
	pid, _ := subject(m)
	if g := s.ghosts[pid]; g != nil {
		return g.tree
	}
	return s.coming[pid]
}

// announce notes that a tree is to get another ghost.
func (s *shard) announce(t *tree, pid wire.PID) {
	if s.coming[pid] != t {
		s.coming[pid] = t
		t.coming = append(t.coming, pid)
	}
}

// allMade ends the announcements of a tree: its ghosts have been made, or will not be.
func (s *shard) allMade(t *tree) {
	for _, pid := range t.coming {
		if s.coming[pid] == t {
			delete(s.coming, pid)
		}
	}
	t.coming = t.coming[:0]
}

// putBehind queues a request that must wait for a ghost of its tree.
func (s *shard) putBehind(t *tree, r request) {
	if !s.keep(t, &r, len(t.waiting) >= maxBehind || t.size+r.size() > maxBehindSize) {
		return
	}
	if fork, forks := r.msg.(*wire.GhostFork); forks {
		s.announce(t, fork.Child)
	}
	t.waiting = append(t.waiting, r)
	t.size += r.size()
}

// keep decides whether a request is kept until its ghost runs. It answers the request if it is not
// kept, or if the tree is late.
func (s *shard) keep(t *tree, r *request, full bool) bool {
	_, ends := r.msg.(*wire.GhostExit)
	switch {
	case r.answered:
		return true
	case !ends && (full || t.stuck && t.early >= maxEarly):
		if fork, forks := r.msg.(*wire.GhostFork); forks && s.ghosts[fork.Child] == nil {
			s.owners.drop(fork.Child, s)
		}
		s.answer(r, unix.EAGAIN)
		return false
	case t.late && t.early < maxEarly:
		t.early++
		return s.answerEarly(r, false)
	}
	return true
}

// size is the approximate memory that a request takes up.
func (r *request) size() int {
	const others = 256
	size := others
	if m, ok := r.msg.(*wire.GhostExec); ok {
		for _, arg := range m.Argv {
			size += len(arg) + 16
		}
	}
	return size
}

// watch checks whether a worker's tree is late or stuck, and answers the waiting requests then.
func (s *shard) watch(w *worker, now time.Time) {
	t, still := w.tree, now.Sub(w.since)
	switch {
	case !t.late && (t.lateAt(still) || now.Sub(w.begun) >= maxLate):
		t.late, t.lates, t.early = true, t.lates+1, t.early+1
		s.answerEarly(w.request, true)
	case t.late && !t.stuck && t.stuckAt(still, w.on):
		t.stuck = true
	default:
		return
	}
	kept := t.waiting[:0]
	t.size = 0
	for _, r := range t.waiting {
		if s.keep(t, &r, false) {
			kept = append(kept, r)
			t.size += r.size()
		}
	}
	clear(t.waiting[len(kept):])
	t.waiting = kept
	if g := s.ghosts[w.on]; g != nil {
		favour(g.pid)
		s.log.Debug("a ghost does not run; what is asked of it waits", "pid", g.pid)
	}
}

// answerEarly answers a request that is in hand, or waits, before it is carried out, and reports
// whether it is still to be carried out.
func (s *shard) answerEarly(r *request, inHand bool) bool {
	if r.answered {
		return true
	}
	var err error
	carryOut := true
	switch m := r.msg.(type) {
	case *wire.GhostCall: // the caller needs the result
		err, carryOut = unix.EAGAIN, false
	case *wire.GhostAdopt:
		switch {
		case s.ghosts[m.PID] == nil:
			err, carryOut = unix.EAGAIN, false
		case !inHand:
			err, carryOut = unix.EEXIST, false
		}
	}
	s.answer(r, err)
	r.answered = true
	return carryOut
}

// settled answers a request that waits for all others. Late trees do not count.
func (s *shard) settled(r *request) {
	left, done := 1, r.done
	one := func(error) {
		if left--; left == 0 {
			done(nil)
		}
	}
	for _, w := range s.away {
		if t := w.tree; !t.late {
			left++
			t.waiting = append(t.waiting, request{done: one})
		}
	}
	one(nil)
}
