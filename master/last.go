package master

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
)

// A master that no other follows, because the machine shuts down, ends the processes on the nodes
// as the machine ends its own: by SIGTERM, and by SIGKILL if they take too long. They are not left
// to their leases, and nothing on the front end waits for them.

// Times for processes to end, in all less than a unit's TimeoutStopSec=.
const (
	termTime = 3 * time.Second // after SIGTERM
	killTime = 3 * time.Second // after SIGKILL
	lastLook = 10 * time.Millisecond
)

// endAll ends all processes and then the keeper, if this is the last master. Clients see that the
// socket is gone, and wait for no other master.
func (m *Master) endAll(ctx context.Context) {
	if m.cfg.Last == nil || !m.cfg.Last() {
		return
	}
	if err := os.Remove(m.cfg.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("clients wait for the next master", "err", err)
	}
	if m.endBy(ctx, unix.SIGTERM, termTime) > 0 {
		if left := m.endBy(ctx, unix.SIGKILL, killTime); left > 0 {
			m.log.Warn("not all processes have ended", "count", left)
		}
	}
	if keeper := m.keeper.Load(); keeper != nil {
		m.last.Store(true)
		if err := keeper.client.End(); err != nil {
			m.log.Warn("the keeper stays", "err", err)
		}
	}
}

// endBy signals all processes, and waits until all have ended and their clients know it. It returns
// how many are left after a time.
func (m *Master) endBy(ctx context.Context, sig unix.Signal, patience time.Duration) (left int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := m.state.step(ctx, core.EndAll{Signal: sig}); err != nil {
		return 0 // the core has ended
	}
	for {
		m.state.look(func(c *core.Core) { left = c.Size() })
		if left == 0 && m.seats.shares.Taken() == 0 {
			return left
		}
		select {
		case <-ctx.Done():
			return left
		case <-time.After(lastLook):
		}
	}
}
