package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// This file has what is different when a process of a node starts another (core/nested.go): its
// connection is a stream of its node's daemon, and its identity is that of its ghost.

// placeTime is how long a nested launch waits until the front end has caught up with what the node
// has reported before it.
const placeTime = 30 * time.Second

// errNoCaller is the error for a nested launch by a process that the node does not have.
var errNoCaller = errors.New("the node has no such process")

// nests identifies the process that wants a nested launch, and returns the session with its node;
// 0: it is none.
func (c *clientConn) nests(ctx context.Context, m *wire.Run) (core.Session, error) {
	if c.from == nil {
		return 0, nil
	}
	if err := c.identify(ctx); err != nil {
		return 0, errors.Join(err, c.unidentified(err))
	}
	if m.Again || m.Ghost != 0 {
		return 0, c.failed(wire.StageRequest, unix.EINVAL, "")
	}
	return c.from.id, nil
}

// errChanged is the error for a nested launch by a process that has several users or groups, or others than when
// it connected. The rights of a set-user-ID or set-group-ID program do not pass to whoever holds the connection.
var errChanged = errors.New("the user or group of this process has just changed, or it has several")

// identify takes the caller's identity from its ghost, once the ghost is as the process was when it
// asked. The core decides whether the process is one of the node's.
func (c *clientConn) identify(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, placeTime, errNoCaller)
	defer cancel()
	if err := c.from.barrier.Wait(ctx, c.event); err != nil {
		return err
	}
	status, err := readGhost(c.who.PID, "status")
	if err != nil {
		return err
	}
	user, userErr := statusNumbers(status, "Uid:", 10, 4)
	group, groupErr := statusNumbers(status, "Gid:", 10, 4)
	groups, groupsErr := statusNumbers(status, "Groups:", 10, 0)
	if err := errors.Join(userErr, groupErr, groupsErr); err != nil {
		return err
	}
	const effective = 1
	stands := false
	c.m.state.look(func(core *core.Core) { stands = core.Stands(c.from.node, user[0]) })
	if group[effective] != c.who.GID || !isOne(user) || user[0] != c.who.UID && !stands {
		return errChanged
	}
	c.who = core.Caller{PID: c.who.PID, UID: user[0], GID: group[effective], Groups: groups}
	return nil
}

// isOne reports whether the real, effective and saved users of a process are the same.
func isOne(users []uint32) bool { return users[0] == users[1] && users[1] == users[2] }

// unidentified reports that a caller could not be identified.
func (c *clientConn) unidentified(err error) error {
	if errors.Is(err, errChanged) {
		return c.failed(wire.StageRequest, unix.EPERM, err.Error())
	}
	return c.failed(wire.StageRequest, unix.ESRCH, errNoCaller.Error())
}

// inherit is the function inherit for the process of a launch. A nested launch has its own umask.
// It fails if its ghost is not as its maker's ghost was when the maker asked.
func (l *launch) inherit() error {
	umask, group := l.spawn.Command.Umask, l.spawn.GID
	if err := inherit(&l.spawn, l.kin); err != nil || !l.nested {
		return err
	}
	l.spawn.Command.Umask = umask & 0o777
	if l.spawn.GID != group {
		return fmt.Errorf("ghost %d: %w", l.spawn.PID, errOther)
	}
	return nil
}

// started returns the answer to a launch.
func started(l *launch) *wire.Started {
	if l.nested {
		return &wire.Started{PID: l.spawn.PID}
	}
	return new(wire.Started)
}

// goneFrom returns a function that reports whether the client of a process has gone, though there
// may be bytes left to read.
func (c *clientConn) goneFrom(pid wire.PID) func() bool {
	if client, ok := c.conn.(*net.UnixConn); ok {
		return func() bool { return hungUp(client) }
	}
	return func() bool {
		parent, err := c.m.kernel.parent(pid)
		return err == nil && parent != c.who.PID
	}
}

// cutOff reports whether the connection of a client has ended because the session with its node has
// ended: the client has not said anything then.
func (c *clientConn) cutOff() bool {
	if c.from == nil {
		return false
	}
	select {
	case <-c.from.link.Done():
		return true
	default:
		return false
	}
}

// masterEnds reports whether the master ends. The context of a client on a node also ends with its
// node's session.
func (c *clientConn) masterEnds(ctx context.Context) bool {
	if c.from == nil {
		return ctx.Err() != nil
	}
	select {
	case <-c.from.ending:
		return true
	default:
		return false
	}
}

// say tells the core something, unless the master ends: also if the context of a client on a node has
// ended with its node's session.
func (c *clientConn) say(ctx context.Context, in core.Input) error {
	if c.masterEnds(ctx) {
		return context.Cause(ctx)
	}
	if c.from != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return c.m.state.step(ctx, in)
}

// giveUp settles a launch whose client on a node is gone with its node's session. Later outputs of the
// core find no client, and settle it then.
func (c *clientConn) giveUp(ctx context.Context, launch uint64) {
	if c.from == nil || c.over || c.masterEnds(ctx) {
		return
	}
	c.m.state.giveUp(context.WithoutCancel(ctx), c, launch)
}

// returns is how long the stream of a process is kept for a client that was cut off.
const returns = 30 * time.Second

// away is for a client that was cut off, and may come back over another connection. For that time
// the stream of its process stays: its end would mean that nobody wants the rest.
func (c *clientConn) away(ctx context.Context, pid wire.PID, on *slaveConn, stream stream) error {
	all := context.WithoutCancel(ctx) // ctx is that of the session that has ended
	err := c.m.state.step(all, core.ClientAway{Client: c.id, PID: pid})
	c.m.slaves.Go(func() error {
		timer := time.NewTimer(returns)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-on.link.Done():
		case <-c.from.ending:
			return nil
		}
		_ = stream.SetReadDeadline(time.Time{}) // what comes until its end is read
		_ = stream.Close()                      // as in leave
		return nil
	})
	return err
}
