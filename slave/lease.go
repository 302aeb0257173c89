package slave

import (
	"context"
	"errors"
	"time"

	"bproc/slave/core"
)

// leaseLooks is how often a lease is checked within its time, at least. The master's margin is
// longer than one interval between checks.
const leaseLooks = 30

// lastPatience is how long init may take to end all processes when the lease has
// run out. The master's margin is longer.
const lastPatience = 2 * time.Second

// keepLease checks the lease for as long as the daemon lives: it may run out while the next link is
// being made.
func (n *node) keepLease(ctx context.Context) error {
	for {
		select {
		case <-time.After(n.lookAtLease()):
		case <-n.state.surely:
			n.killForSure(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// lookAtLease checks the lease and returns the time until the next check.
func (n *node) lookAtLease() time.Duration {
	l := n.linked.Load()
	if l == nil {
		return redial
	}
	n.state.step(core.Heard{At: l.LastHeard(), Lease: l.Lease()})
	return min(l.Lease()/leaseLooks, redial) // the lease of the next link may be shorter
}

// killForSure kills init unless init answers in time that it has killed all processes. When init
// dies, the kernel ends the space (pid_namespaces(7)).
func (n *node) killForSure(ctx context.Context) {
	err := within(ctx, lastPatience, n.space.Sync)
	if err == nil || ctx.Err() != nil {
		return
	}
	n.log.Error("the process space is ended", "err", errors.Join(err, n.space.KillInit()))
}
