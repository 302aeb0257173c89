package procfs

import (
	"container/list"
	"sync"
	"time"

	"bproc/internal/crowd"
)

// kept bounds the bytes that were fetched from nodes for readers, by user. A user who has taken its share gets
// ENFILE.
//
// Fetched contents are forgotten with their file. Those of a file that the kernel knows for long are
// forgotten after a while, when anything else is fetched: a reader that still wants them has them
// fetched anew.
type kept struct {
	shares *crowd.Shares[uint32]

	mu      sync.Mutex
	fetched list.List // of *fetched, the oldest first
}

// fetched is something that was fetched from a node.
type fetched struct {
	forget func()
	uid    uint32
	size   int
	at     time.Time

	in *list.Element // nil: it is not kept any more
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

// fetch has something kept that was fetched for a user; nil: there is no room. forget is called when
// it is not to be kept any more, unless drop is.
func (k *kept) fetch(uid uint32, size int, forget func()) *fetched {
	now := time.Now()
	for _, f := range k.old(now) {
		f.forget()
		k.leave(f.uid, f.size)
	}
	if !k.take(uid, size) {
		return nil
	}
	f := &fetched{forget: forget, uid: uid, size: size, at: now}
	k.mu.Lock()
	defer k.mu.Unlock()
	f.in = k.fetched.PushBack(f)
	return f
}

// drop says that what was fetched is not needed any more.
func (k *kept) drop(f *fetched) {
	k.mu.Lock()
	in := f.in
	if f.in = nil; in != nil {
		k.fetched.Remove(in)
	}
	k.mu.Unlock()
	if in != nil {
		k.leave(f.uid, f.size)
	}
}

// old removes and returns what was fetched long ago.
func (k *kept) old(now time.Time) (all []*fetched) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for in := k.fetched.Front(); in != nil; in = k.fetched.Front() {
		f := in.Value.(*fetched)
		if now.Sub(f.at) <= fetchFor {
			break
		}
		k.fetched.Remove(in)
		f.in = nil
		all = append(all, f)
	}
	return all
}
