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

	mu      sync.Mutex
	queue   map[place]bool
	bell    chan struct{}
	sending bool
	holds   int // listings of /proc for which the queue waits
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
	n.ring()
}

// hold keeps the queue back until release. It returns false, and does nothing, if there are
// notifications already: else listing after listing could keep them back.
func (n *news) hold() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sending || len(n.queue) > 0 {
		return false
	}
	n.holds++
	return true
}

// release ends a hold.
func (n *news) release() {
	n.mu.Lock()
	n.holds--
	due := n.holds == 0 && len(n.queue) > 0
	n.mu.Unlock()
	if due {
		n.ring()
	}
}

func (n *news) ring() {
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

// take empties the queue, unless it has to wait.
func (n *news) take() []place {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sending = n.holds == 0 && len(n.queue) > 0
	if !n.sending {
		return nil
	}
	queue := n.queue
	n.queue = map[place]bool{} // a smaller one
	return slices.Collect(maps.Keys(queue))
}

// run sends the queued notifications, until the context ends.
func (n *news) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.bell:
		}
		n.now(n.take())
		n.mu.Lock()
		n.sending = false
		n.mu.Unlock()
	}
}
