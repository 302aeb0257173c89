package ghost

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Bounds of the signals that are kept for masters to come: for one ghost, more
// than a user may have pending on most machines (RLIMIT_SIGPENDING), and for all
// of them some 50 MB.
const (
	maxKept    = 4096
	maxKeptAll = 1 << 18
)

// keptSignals are the signals that ghosts got and that have not reached their
// processes for sure, by ghost. A master that dies has taken signals that went
// nowhere, so the next one is told of them again.
type keptSignals struct {
	boot  uint64 // of which the numbers are
	seq   uint64 // of the last signal
	count int
	of    map[wire.PID]*signalQueue
}

type signalQueue struct {
	list    []keptSignal
	dropped bool // not all could be kept
}

type keptSignal struct {
	seq  uint64
	info *siginfo
}

// newKeptSignals returns none. The first number is from a clock that does not go
// back while the machine runs, and counts faster than signals can come: so the
// numbers grow from keeper to keeper (clock_gettime(2), CLOCK_BOOTTIME). Those of two
// boots cannot be compared.
func newKeptSignals() keptSignals {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // there is that clock from Linux 2.6.39
	return keptSignals{boot: thisBoot(), seq: uint64(now.Nano()), of: map[wire.PID]*signalQueue{}}
}

// add gives a signal its number and keeps it. When there is no room, the oldest of
// that ghost is not kept any longer, and full is true the first time. SIGKILL is
// kept in any case: a ghost gets it once.
func (k *keptSignals) add(pid wire.PID, info *siginfo) (seq uint64, full bool) {
	k.seq++
	q := k.of[pid]
	if q == nil {
		q = new(signalQueue)
		k.of[pid] = q
	}
	if len(q.list) >= maxKept || k.count >= maxKeptAll {
		full, q.dropped = !q.dropped, true
		oldest := slices.IndexFunc(q.list, func(s keptSignal) bool { return s.info.signal() != unix.SIGKILL })
		if oldest >= 0 {
			copy(q.list[1:], q.list[:oldest]) // nearly always nothing, and the many that follow stay where they are
			q.list = q.list[1:]
			k.count--
		} else if info.signal() != unix.SIGKILL {
			return k.seq, full
		}
	}
	q.list = append(q.list, keptSignal{k.seq, info})
	k.count++
	return k.seq, full
}

// taken forgets the signals of a ghost up to a number.
func (k *keptSignals) taken(m wire.Mark) {
	q := k.of[m.PID]
	if q == nil {
		return
	}
	n := 0
	for n < len(q.list) && q.list[n].seq <= m.Seq {
		n++
	}
	k.count -= n
	if q.list = q.list[n:]; len(q.list) == 0 {
		delete(k.of, m.PID)
	}
}

// forget forgets the signals of a ghost that has ended.
func (k *keptSignals) forget(pid wire.PID) {
	if q := k.of[pid]; q != nil {
		k.count -= len(q.list)
		delete(k.of, pid)
	}
}

// all returns what is kept, in the order in which it came.
func (k *keptSignals) all() []*wire.GhostSignal {
	all := make([]*wire.GhostSignal, 0, k.count)
	for pid, q := range k.of {
		for _, s := range q.list {
			all = append(all, &wire.GhostSignal{PID: pid, Info: s.info[:], Seq: s.seq})
		}
	}
	slices.SortFunc(all, func(a, b *wire.GhostSignal) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
