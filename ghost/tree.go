package ghost

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// tree is ghosts that have been made by one another. What is asked of them is carried out
// in its order; trees do not wait for each other.
//
// A ghost may not stop when it is to, because its control group is frozen, or because it
// gets no processor. Then requests about its tree wait. After a time they are answered
// nonetheless, since the master lets nothing out that a node says before the effects of
// all that went before: the ghost gets there when it runs again.
type tree struct {
	at      *worker   // that waits for one of them; nil: none does
	waiting []request // what is asked of them meanwhile
	size    int       // of that
	late    bool      // others are not to wait for it
	stuck   bool      // nothing more is taken that is to be answered
	early   int       // requests that were answered before they are carried out
	lates   int       // how often it has been late

	coming []wire.PID // those that they are to make, see shard.coming
}

// lateTime is how long others wait for a ghost that does nothing; less for one that has been
// late before. One that gets a flood of signals may take maxLate for a request. On a busy
// machine a ghost may be late and go on: it is stuck after stuckTime.
const (
	lateTime  = time.Second
	stuckTime = 6 * lateTime // longer than roomTime
	maxLate   = 10 * time.Second
)

// maxEarly bounds the requests that are answered before they are carried out. With the
// answers to more of them, a node is as slow as the ghosts of its processes are.
const maxEarly = 512

// maxBehind and maxBehindSize bound what waits for a ghost, but for the ends of ghosts.
const (
	maxBehind     = maxRequests
	maxBehindSize = 16 << 20
)

// lateAt and stuckAt report whether a tree is, after a time in which nothing of it stopped.
func (t *tree) lateAt(d time.Duration) bool  { return d >= lateTime>>min(t.lates, 5) }
func (t *tree) stuckAt(d time.Duration) bool { return d >= stuckTime>>min(t.lates-1, 5) }

// treeOf returns the tree that a request is about; nil: none yet.
func (s *shard) treeOf(m wire.Message) *tree {
	pid, _ := subject(m)
	if g := s.ghosts[pid]; g != nil {
		return g.tree
	}
	return s.coming[pid]
}

// announce notes that a tree is to have another ghost.
func (s *shard) announce(t *tree, pid wire.PID) {
	if s.coming[pid] != t {
		s.coming[pid] = t
		t.coming = append(t.coming, pid)
	}
}

// allMade is for a tree that has all that were announced, or will not have them.
func (s *shard) allMade(t *tree) {
	for _, pid := range t.coming {
		if s.coming[pid] == t {
			delete(s.coming, pid)
		}
	}
	t.coming = t.coming[:0]
}

// putBehind has a request wait for a ghost of its tree.
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

// keep decides whether a request is kept until its ghost runs, and answers it if it is not,
// or if others are not to wait for that.
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

// size is what a request takes up, about.
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

// watch looks whether a worker's tree is late or stuck, and has what waits for it be
// answered then.
func (s *shard) watch(w *worker, now time.Time) {
	t, still := w.tree, now.Sub(w.since)
	switch {
	case !t.late && (t.lateAt(still) || now.Sub(w.begun) >= maxLate):
		t.late, t.lates, t.early = true, t.lates+1, t.early+1
		s.answerEarly(w.request, true)
	case t.late && !t.stuck && t.stuckAt(still):
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

// answerEarly answers a request that is in hand, or waits, before it is carried out, and
// reports whether it is to be carried out all the same.
func (s *shard) answerEarly(r *request, inHand bool) bool {
	if r.answered {
		return true
	}
	var err error
	carryOut := true
	switch m := r.msg.(type) {
	case *wire.GhostCall: // the caller wants to know what came of it
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

// settled answers a request that waits for all others. Trees that are late do not count.
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
