package slave

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"bproc/slave/procevents"
	"bproc/wire"
)

// frontEnd is the supervisor's connection to the front end.
type frontEnd struct{ *node }

// Call has the front end carry out a call, after all events that the caller can know of.
func (f frontEnd) Call(ctx context.Context, id uint64, call *wire.Call) (*wire.Return, error) {
	f.recorder.stamp()
	r, err := f.state.call(ctx, id, call)
	if err != nil {
		return nil, fmt.Errorf("call %d of %d: %w", call.Op, call.Caller, err)
	}
	return r, nil
}

// Ours reports whether a number is in the blocks of this node.
func (f frontEnd) Ours(pid wire.PID) bool { return f.numbers.ours(pid) }

// Regroups watches the group and session of a process.
func (f frontEnd) Regroups(pid wire.PID) {
	f.watch.groups.begin(pid)
	f.watch.regroups(pid)
}

// Unsettled reports whether a group may lack an anchor.
func (f frontEnd) Unsettled() bool { return f.watch.groups.unsettled() }

// Settle makes the anchors that groups lack. A group that cannot have an anchor is orphaned, and
// otherwise as good.
func (f frontEnd) Settle(ctx context.Context) {
	for _, g := range f.watch.groups.made(procIn(f.space).Process) {
		if err := f.space.Group(ctx, g.sid, g.pgid); err != nil {
			f.log.Debug("group has no anchor", "pid", g.pgid, "err", err)
		}
		f.watch.groups.settled(g.pgid)
	}
}

// Recredits watches the credentials of a process.
func (f frontEnd) Recredits(pid wire.PID) { f.watch.recredits(pid) }

// Reaper records whether a process is about to adopt orphans or to stop doing so.
func (f frontEnd) Reaper(pid wire.PID, on bool) {
	f.recorder.do(func(t *procevents.Tracker) { t.Reaper(pid, on) })
}

// Shadow opens a descriptor of the shadow of a process elsewhere.
func (f frontEnd) Shadow(ctx context.Context, pid wire.PID, user uint32, flags int) (*os.File, error) {
	return f.shadows.open(ctx, pid, user, flags)
}

// Shadowed returns the process whose shadow has a number.
func (f frontEnd) Shadowed(number wire.PID) (wire.PID, bool) { return f.shadows.shadowed(number) }

// ended returns when a process elsewhere has ended. It chooses the number of the call at random:
// the numbers of other calls come from the kernel, which begins at random.
func (f frontEnd) ended(ctx context.Context, pid wire.PID) error {
	r, err := f.Call(ctx, rand.Uint64(), &wire.Call{Op: wire.CallEnd, Args: []int64{int64(pid), 1}})
	if err != nil {
		return err
	}
	switch errno := unix.Errno(r.Errno); errno {
	case 0, unix.ESRCH, unix.EINVAL, unix.ENOENT: // the last two: the number is a thread's now
		return nil
	default:
		return errno
	}
}

// Death records the signal that a process is going to get when its parent ends.
func (f frontEnd) Death(pid wire.PID, signal int) {
	f.recorder.do(func(t *procevents.Tracker) { t.Death(pid, signal) })
}
