package procfs

import (
	"sync"
	"time"

	"bproc/internal/crowd"
)

// kept bounds what readers make the server keep, in bytes and by user: the names in open directories,
// and what was fetched from nodes. A user who has taken its share gets ENFILE.
//
// What was fetched is forgotten after a while, when anything else is fetched: a reader that still
// wants it has it fetched anew.
type kept struct {
	shares *crowd.Shares[uint32]

	mu      sync.Mutex
	fetched []fetched // the oldest first
}

// fetched is something that was fetched from a node.
type fetched struct {
	forget func()
	uid    uint32
	size   int
	at     time.Time
}

const (
	maxKept  = 256 << 20
	leastFor = 1 << 10 // bytes that the smallest thing counts for
	fetchFor = time.Minute
)

func newKept() *kept { return &kept{shares: crowd.NewShares[uint32](maxKept)} }

// take reports whether a user may have more bytes kept.
func (k *kept) take(uid uint32, size int) bool { return k.shares.Take(uid, max(size, leastFor)) }

// leave says that these bytes are not kept any more.
func (k *kept) leave(uid uint32, size int) { k.shares.Leave(uid, max(size, leastFor)) }

// fetch reports whether a user may have something kept that was fetched. forget is called when it is
// not to be kept any more.
func (k *kept) fetch(uid uint32, size int, forget func()) bool {
	now := time.Now()
	for _, f := range k.old(now) {
		f.forget()
		k.leave(f.uid, f.size)
	}
	if !k.take(uid, size) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetched = append(k.fetched, fetched{forget, uid, size, now})
	return true
}

// old removes and returns what was fetched long ago.
func (k *kept) old(now time.Time) (all []fetched) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for n < len(k.fetched) && now.Sub(k.fetched[n].at) > fetchFor {
		n++
	}
	all, k.fetched = k.fetched[:n:n], k.fetched[n:]
	if len(k.fetched) == 0 {
		k.fetched = nil
	}
	return all
}
