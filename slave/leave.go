package slave

import (
	"context"
	"errors"
	"time"

	"bproc/slave/core"
	"bproc/wire"
)

// A daemon that ends with its processes tells the master so, which otherwise waits for
// the time of the lease before it calls them dead.

// linkTime is how long a daemon that is told to end waits for a session, if it has
// processes and none: it may just have come, in the place of one that has died.
const linkTime = 3 * time.Second

// leaveTime bounds how long processes may take to end and the master to be told, in all.
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
		// Without one the processes end all the same.
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
			n.recorder.stamp() // tells everything
			return n.out.Idle()
		})
	}
	n.left(ctx, err)
}

// spaceLost is for a space that has ended, or whose init hangs: none of its processes
// lives on.
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
		n.recorder.stamp() // what the kernel has noted
	}
	n.left(ctx, err)
}

// left tells the master that no process is left, if err is nil.
func (n *node) left(ctx context.Context, err error) {
	if err == nil {
		err = n.out.put(&wire.Leaving{Empty: true})
	}
	if err == nil {
		err = n.until(ctx, errors.New("the master does not listen"), func() (bool, error) { return n.out.Idle(), nil })
	}
	if err != nil {
		n.log.Warn("the master is not told the ends of all processes", "err", err)
	}
}
