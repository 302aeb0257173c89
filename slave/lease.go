package slave

import (
	"context"
	"time"

	"bproc/wire/link"
)

// watchLease looks after the lease of a link for as long as it lasts.
func (n *node) watchLease(ctx context.Context, l *link.Session) error {
	ticker := time.NewTicker(l.Lease() / leaseLooks)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			n.expire(l)
		case <-ctx.Done():
			return nil
		}
	}
}

// leaseLooks is how often in its time a lease is looked at. The master's margin
// is for more than one look.
const leaseLooks = 30

// expire kills everything when the master has not been heard from for the time
// of the lease: soon it will call these processes dead. The link may go on
// after that, with an empty space.
func (n *node) expire(l *link.Session) {
	if l == nil || n.expired == l || time.Since(l.LastHeard()) < l.Lease() {
		return
	}
	n.expired = l
	n.log.Warn("no word from the master for the time of the lease; all processes are killed")
	if err := n.space.KillAll(); err != nil {
		n.log.Error("processes could not be killed", "err", err)
	}
}
