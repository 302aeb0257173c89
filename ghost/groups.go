package ghost

import (
	"context"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bproc/ghost/groupkill"
	"bproc/wire"
)

// groupKills tells which signals were for whole process groups.
type groupKills struct {
	watch atomic.Pointer[groupkill.Watch] // nil: not yet, or this kernel cannot
}

// close must be called when nobody asks any more.
func (k *groupKills) close() error {
	if w := k.watch.Load(); w != nil {
		return w.Close()
	}
	return nil
}

// watchGroups begins to watch. That takes a tenth of a second, for which nobody waits.
func (k *Keeper) watchGroups(ctx context.Context) {
	switch w, err := groupkill.Start(ctx, k.cfg.Groups); {
	case err == nil:
		k.groups.watch.Store(w)
	case ctx.Err() == nil:
		k.log.Warn("signals for process groups are not known to be; they may miss processes that have just been born on nodes", "err", err)
	}
}

// forGroup reports whether a signal that a ghost is about to get was sent to its whole group. Each
// such signal is found once.
func (s *shard) forGroup(g *held, info *siginfo) bool {
	w := s.groups.watch.Load()
	if w == nil || info.code() != siUser || info.signal() == unix.SIGKILL { // whose sender is not known
		return false
	}
	group, err := unix.Getpgid(int(g.pid))
	if err != nil {
		return false
	}
	at := w.Sent(wire.PID(group), info.signal(), info.sender())
	if at <= g.groupKill {
		return false
	}
	g.groupKill = at
	return true
}
