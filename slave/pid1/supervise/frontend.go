package supervise

import (
	"context"
	"os"

	"bproc/wire"
)

// FrontEnd is a Supervisor's connection to the front end and to init.
type FrontEnd interface {
	Daemon
	// Group makes a process group of the front end exist in a session of the space.
	Group(ctx context.Context, sid, pgid wire.PID) error
	// Sync returns when the signals that were received before have been delivered.
	Sync(ctx context.Context) error
}

// Daemon is what the slave daemon does for a Supervisor. Ours, Regroups, Recredits and Unsettled
// must not block, for the receiving thread calls them; the others may.
type Daemon interface {
	// Ours reports whether a number is one that no process outside of the space has.
	Ours(pid wire.PID) bool
	// Call has the front end carry out a call. It waits while there is no connection to it. The
	// same call comes again, with the same ID, if a daemon has died during it; no other call has
	// that ID.
	Call(ctx context.Context, id uint64, call *wire.Call) (*wire.Return, error)
	// Regroups says that a process may soon be in another group or session.
	Regroups(pid wire.PID)
	// Unsettled reports whether a process from the front end may have made a group for itself that
	// is orphaned here and not there.
	Unsettled() bool
	// Settle makes the anchors of such groups.
	Settle(ctx context.Context)
	// Recredits says that a process may soon have other credentials.
	Recredits(pid wire.PID)
	// Reaper says that a process is about to adopt orphans, or to stop doing so.
	Reaper(pid wire.PID, on bool)
	// Shadow opens a descriptor of the shadow of a process elsewhere, for a user, with the flags of
	// pidfd_open(2). The shadow ends when that process has ended.
	Shadow(ctx context.Context, pid wire.PID, user uint32, flags int) (*os.File, error)
	// Shadowed returns the process elsewhere whose shadow has a number. It must not block.
	Shadowed(number wire.PID) (wire.PID, bool)
	// Death says which signal a process is going to get when its parent ends.
	Death(pid wire.PID, signal int)
}
