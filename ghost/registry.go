package ghost

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"bproc/wire"
)

// registry knows which shard has which ghost, which ghosts are held in their exit,
// which are stopped, and how they came to be. A ghost is entered when the request for it is given to a shard,
// since requests about it may follow before the shard has got there.
type registry struct {
	mu      sync.Mutex
	shards  map[wire.PID]*shard
	killed  map[wire.PID]bool
	stopped map[wire.PID]bool
	how     map[wire.PID]wire.Adopted
}

func newRegistry() *registry {
	return &registry{
		shards: map[wire.PID]*shard{}, killed: map[wire.PID]bool{}, stopped: map[wire.PID]bool{}, how: map[wire.PID]wire.Adopted{},
	}
}

func (r *registry) set(pid wire.PID, s *shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shards[pid] = s
}

func (r *registry) drop(pid wire.PID, s *shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shards[pid] == s {
		delete(r.shards, pid)
		delete(r.killed, pid)
		delete(r.stopped, pid)
		delete(r.how, pid)
	}
}

func (r *registry) adopted(how wire.Adopted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.how[how.PID] = how
}

func (r *registry) kill(pid wire.PID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed[pid] = true
}

func (r *registry) stop(pid wire.PID, stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stopped {
		r.stopped[pid] = true
	} else {
		delete(r.stopped, pid)
	}
}

func (r *registry) shardOf(pid wire.PID) *shard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shards[pid]
}

// list returns the ghosts that are held, in order.
func (r *registry) list() *wire.GhostList {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &wire.GhostList{
		Held:    slices.Sorted(maps.Keys(r.shards)),
		Killed:  slices.Sorted(maps.Keys(r.killed)),
		Stopped: slices.Sorted(maps.Keys(r.stopped)),
		Adopted: slices.SortedFunc(maps.Values(r.how), func(a, b wire.Adopted) int { return cmp.Compare(a.PID, b.PID) }),
	}
}
