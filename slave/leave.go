package slave

import (
	"context"
	"errors"
	"time"

	"bproc/slave/core"
	"bproc/wire"
)

// A daemon that ends with its processes tells the master so. Otherwise the master waits for the
// time of the lease before it considers them dead.

// linkTime is how long a daemon that is told to end waits for a session if it has processes. It may
// have just started in the place of a daemon that died.
const linkTime = 3 * time.Second

// leaveTime bounds the time until all processes have ended and the master has been told.
const leaveTime = 10 * time.Second

var (
	errNoLink = errors.New("there is no session with the master")
	errLeaves = errors.New("the daemon is told to end, and not all processes have")
)

// leave ends all processes while the master can still be told of their ends.
func (n *node) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, n.patience.bound(leaveTime), errLeaves)
	defer cancel()
	if len(n.state.known()) > 0 {
		// Without a session the processes end all the same.
		linking, cancel := context.WithTimeoutCause(ctx, n.patience.bound(linkTime), errNoLink)
		_ = n.until(linking, errNoLink, func() (bool, error) { return n.out.IsOpen(), nil })
		cancel()
	}
	n.leaving.Store(true)
	err := n.out.put(new(wire.Leaving))
	n.stdios.Cut()
	if err == nil {
		n.state.step(core.EndAll{})
		err = n.empty(ctx, func() bool {
			quiet := false
			if n.state.look(func(c *core.Core) { quiet = c.Quiet() }); !quiet {
				return false
			}
			n.recorder.stamp() // reports everything
			return n.out.Idle()
		})
	}
	n.left(ctx, err)
}

// spaceLost handles a space that has ended, or whose init hangs. None of its processes survives.
func (n *node) spaceLost(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, n.patience.bound(leaveTime), errInitHangs)
	defer cancel()
	n.leaving.Store(true)
	err := n.out.put(new(wire.Leaving))
	n.stdios.Cut()
	if err == nil {
		err = n.space.End(ctx)
	}
	if err == nil {
		n.recorder.stamp() // reports what the kernel has noted
	}
	n.left(ctx, err)
}

// left tells the master that no process is left, if err is nil. The master ends the session when it has
// heard that; a link that this daemon ends does not wait long for what is still to be sent.
func (n *node) left(ctx context.Context, err error) {
	heard := n.out.Idle
	if n.out.IsOpen() {
		l := n.linked.Load()
		heard = func() bool { return n.out.Idle() && l.Err() != nil }
	}
	if err == nil {
		err = n.out.put(&wire.Leaving{Empty: true})
	}
	if err == nil {
		err = n.until(ctx, errors.New("the master does not listen"), func() (bool, error) { return heard(), nil })
	}
	if err != nil {
		n.log.Warn("the master is not told the ends of all processes", "err", err)
	}
}
