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

// What is different where a process of a node starts another (core/nested.go): its connection
// is a stream of its node's daemon, and it is known by what its ghost is.

// placeTime is for how long a nested launch waits until the front end has caught up with what the
// node has told before it.
const placeTime = 30 * time.Second

// errNoCaller is why a node starts nothing for a process that it has not.
var errNoCaller = errors.New("the node has no such process")

// nests finds out who wants a nested launch, and returns the session with his node; 0: it is none.
func (c *clientConn) nests(ctx context.Context, m *wire.Run) (core.Session, error) {
	if c.from == nil {
		return 0, nil
	}
	if err := c.identify(ctx); err != nil {
		return 0, errors.Join(err, c.failed(wire.StageRequest, unix.ESRCH, errNoCaller.Error()))
	}
	if m.Again || m.Ghost != 0 {
		return 0, c.failed(wire.StageRequest, unix.EINVAL, "")
	}
	return c.from.id, nil
}

// identify takes who asks from his ghost, when that is as the process was when it asked. Whether
// it is one of the node's, the core decides.
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
	c.who = core.Caller{PID: c.who.PID, UID: user[0], GID: group[effective], Groups: groups}
	return nil
}

// inherit is inherit for the process of a launch. One of a node says its umask itself, and has a
// ghost that is as its maker's was when that asked, or it is not started.
func (l *launch) inherit() error {
	umask, group := l.spawn.Command.Umask, l.spawn.GID
	if err := inherit(&l.spawn); err != nil || !l.nested {
		return err
	}
	l.spawn.Command.Umask = umask & 0o777
	if l.spawn.GID != group {
		return fmt.Errorf("ghost %d: %w", l.spawn.PID, errOther)
	}
	return nil
}

// started answers a launch.
func started(l *launch) *wire.Started {
	if l.nested {
		return &wire.Started{PID: l.spawn.PID}
	}
	return new(wire.Started)
}

// goneFrom returns what tells whether the client of a process has gone, though there may be bytes
// left to read.
func (c *clientConn) goneFrom(pid wire.PID) func() bool {
	if client, ok := c.conn.(*net.UnixConn); ok {
		return func() bool { return hungUp(client) }
	}
	return func() bool {
		parent, err := c.m.kernel.parent(pid)
		return err == nil && parent != c.who.PID
	}
}

// cutOff reports whether the connection of a client has ended because the session with its node
// has: the client has not said anything then.
func (c *clientConn) cutOff() bool {
	if c.from == nil {
		return false
	}
	select {
	case <-c.from.session.Done():
		return true
	default:
		return false
	}
}

// returns is how long a client that was cut off has what its process says.
const returns = 30 * time.Second

// away is for a client that was cut off, and may come back by another connection. Until it has had
// time for that the stream of its process stays: its end would mean that nobody wants the rest.
func (c *clientConn) away(ctx context.Context, pid wire.PID, on *slaveConn, stream stream) error {
	all := context.WithoutCancel(ctx) // that is of the session that has ended
	err := c.m.state.step(all, core.ClientAway{Client: c.id, PID: pid})
	c.m.slaves.Go(func() error {
		timer := time.NewTimer(returns)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-on.session.Done():
		case <-c.from.ending:
			return nil
		}
		_ = stream.Close() // as in leave
		return nil
	})
	return err
}
