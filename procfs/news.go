package procfs

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// news tells the kernel of names that stand for something else than before.
//
// The kernel takes it in when no lookup in the directory is under way. So what is to be
// told of /proc itself waits in a queue: such a lookup may be what wants to know what is
// new. The queue holds a name at most once.
type news struct {
	tell func([]place)

	mu    sync.Mutex
	queue map[place]bool
	bell  chan struct{}
}

func newNews() *news {
	return &news{queue: map[place]bool{}, bell: make(chan struct{}, 1)}
}

// now tells the kernel. No lookup in one of the directories may wait for more than memory: it
// keeps this call from returning.
func (n *news) now(places []place) {
	if len(places) > 0 {
		n.tell(places)
	}
}

// later tells the kernel soon.
func (n *news) later(p place) {
	n.mu.Lock()
	n.queue[p] = true
	n.mu.Unlock()
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

// run tells what is in the queue, until the context ends.
func (n *news) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.bell:
		}
		n.mu.Lock()
		queue := n.queue
		n.queue = map[place]bool{}
		n.mu.Unlock()
		n.now(slices.Collect(maps.Keys(queue)))
	}
}
