package ghost

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"bproc/wire"
)

// registry knows which shard has which ghost, which ghosts are held in their exit, which are
// stopped, and how they were adopted. A ghost is entered when the request to make it is given to a
// shard, since requests about it may follow before the shard has carried that out.
type registry struct {
	mu      sync.Mutex
	shards  map[wire.PID]*shard
	killed  map[wire.PID]bool
	stopped map[wire.PID]bool
	how     map[wire.PID]wire.Adopted
	origins *origins // nil: births, owners and spaces are forgotten when this keeper ends
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

// adopted notes how a ghost came to be. A ghost that was held before keeps its former birth,
// owner and space.
func (r *registry) adopted(how wire.Adopted) error {
	err := r.originate(&how)
	r.note(how)
	return err
}

func (r *registry) note(how wire.Adopted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.how[how.PID] = how
}

// originate stores birth, owner and space of a ghost that is about to be made, for later keepers, or
// reads what a former keeper has stored.
func (r *registry) originate(how *wire.Adopted) error {
	switch {
	case r.origins == nil:
		return nil
	case how.Owner == 0 && how.Birth == 0:
		r.origins.get(how)
		return nil
	}
	return r.origins.put(how)
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

// maxListed bounds the ghosts of one message, far below what a frame may hold.
const maxListed = 50_000

// lists returns the messages that tell a master of all ghosts that are held.
func (r *registry) lists() (lists []*wire.GhostList) {
	all := r.list()
	for more := true; more; {
		part := &wire.GhostList{
			Held: cut(&all.Held), Killed: cut(&all.Killed), Stopped: cut(&all.Stopped), Adopted: cut(&all.Adopted),
		}
		more = len(all.Held)+len(all.Killed)+len(all.Stopped)+len(all.Adopted) > 0
		part.More = more
		lists = append(lists, part)
	}
	return lists
}

// cut removes and returns the first elements of a list.
func cut[T any](list *[]T) []T {
	n := min(len(*list), maxListed)
	first := (*list)[:n:n]
	*list = (*list)[n:]
	return first
}

// list returns the ghosts that are held, sorted by number.
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
