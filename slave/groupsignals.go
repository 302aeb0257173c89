package slave

import (
	"context"

	"bproc/slave/core"
)

// pursue looks for processes that a signal has missed, until the context ends.
func (n *node) pursue(ctx context.Context) error {
	for {
		select {
		case o := <-n.state.looks:
			n.lookForLate(o)
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *node) lookForLate(o core.LookForLate) {
	in := core.FoundLate{Held: o.Held}
	if o.Held {
		var err error
		if in.All, err = n.state.hold.takeAll(); err != nil {
			n.log.Error("processes could not be held", "err", err)
		}
	}
	in.Late = n.recorder.late(o.All)
	n.state.step(in)
}
