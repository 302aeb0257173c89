package ghost

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill"
	"bproc/internal/unacked"
	"bproc/wire"
)

// Bounds of the signals that are kept for later masters: for one ghost, more than a user may have
// pending on most machines (RLIMIT_SIGPENDING), and for all ghosts some 50 MB. A ghost can have a few
// kept in any case, so that those with many do not take the place of others'.
const (
	maxKept    = 4096
	maxKeptAll = 1 << 18
	leastKept  = 16
)

// keptSignals are the signals that ghosts got and that may not have reached their processes, by
// ghost. A master that dies may have taken signals without passing them on, so the next one gets
// them again.
type keptSignals struct {
	boot  uint64 // the boot that the numbers belong to
	seq   uint64 // number of the last signal
	count int
	of    map[wire.PID]*signalQueue
}

type signalQueue struct {
	unacked.Queue[*wire.GhostSignal]

	dropped bool // some could not be kept
}

// newKeptSignals returns an empty one. The first number comes from a clock that never goes back
// while the machine runs, and that counts faster than signals can come, so numbers grow from keeper
// to keeper (clock_gettime(2), CLOCK_BOOTTIME). Numbers of two boots cannot be compared.
func newKeptSignals() keptSignals {
	return keptSignals{boot: thisBoot(), seq: groupkill.Now(), of: map[wire.PID]*signalQueue{}}
}

// add gives a signal its number and keeps it. When there is no room, the oldest signal of that
// ghost is dropped, and full is true the first time. SIGKILL is always kept: a ghost gets it once.
func (k *keptSignals) add(m *wire.GhostSignal) (full bool) {
	k.seq++
	m.Seq = k.seq
	q := k.of[m.PID]
	if q == nil {
		q = new(signalQueue)
		k.of[m.PID] = q
	}
	if q.Len() >= maxKept || k.count >= maxKeptAll && q.Len() >= leastKept {
		full, q.dropped = !q.dropped, true
		if q.DropOldest(func(m *wire.GhostSignal) bool { return !kills(m) }) {
			k.count--
		} else if !kills(m) {
			return full
		}
	}
	q.Add(m.Seq, m)
	q.Next() // it is being reported
	k.count++
	return full
}

func kills(m *wire.GhostSignal) bool { return (*siginfo)(m.Info).signal() == unix.SIGKILL }

// taken forgets the signals of a ghost up to a number.
func (k *keptSignals) taken(m wire.Mark) {
	q := k.of[m.PID]
	if q == nil {
		return
	}
	k.count -= q.Acknowledge(m.Seq)
	if q.Len() == 0 {
		delete(k.of, m.PID)
	}
}

// forget forgets the signals of a ghost that has ended.
func (k *keptSignals) forget(pid wire.PID) {
	if q := k.of[pid]; q != nil {
		k.count -= q.Len()
		delete(k.of, pid)
	}
}

// all returns the kept signals in the order in which they came.
func (k *keptSignals) all() []*wire.GhostSignal {
	all := make([]*wire.GhostSignal, 0, k.count)
	for _, q := range k.of {
		for _, m := range q.All() {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *wire.GhostSignal) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
