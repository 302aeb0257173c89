package procfs

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// news tells the kernel of names that stand for other files than before.
//
// The kernel accepts a notification only while no lookup in the directory is pending. So
// notifications about /proc itself wait in a queue: such a lookup may itself wait for the
// refresher. The queue holds a name at most once.
type news struct {
	tell func([]place)

	mu    sync.Mutex
	queue map[place]bool
	bell  chan struct{}
}

func newNews() *news {
	return &news{queue: map[place]bool{}, bell: make(chan struct{}, 1)}
}

// now notifies the kernel. Lookups in the directories must wait for memory only, because a pending
// lookup keeps this call from returning.
func (n *news) now(places []place) {
	if len(places) > 0 {
		n.tell(places)
	}
}

// later queues a notification.
func (n *news) later(p place) {
	n.mu.Lock()
	n.queue[p] = true
	n.mu.Unlock()
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

// run sends the queued notifications, until the context ends.
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
