package master

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// run starts a process on a node in place of the client's ghost, and carries
// the bytes of its standard descriptors.
func (c *clientConn) run(ctx context.Context, m *wire.Run) error {
	if err := checkCommand(&m.Command); err != nil {
		return c.failed(wire.StageRequest, unix.EINVAL, err.Error())
	}
	if !c.m.seats.take() {
		return c.failed(wire.StageRequest, unix.EMFILE, fmt.Sprintf("the master has descriptors for %d processes at a time, and they are in use; raise its limit of open files", c.m.seats.most))
	}
	defer c.m.seats.leave()
	l := newLaunch(m.Node, m.HangUp, wire.Spawn{
		PID: m.Ghost, Parent: c.who.pid,
		UID: c.who.uid, GID: c.who.gid, Groups: c.who.groups,
		Command: m.Command,
	})
	m.Command = wire.Command{}
	if err := c.m.post(ctx, func(core *core) { core.begin(l, c.who) }); err != nil {
		return err
	}
	s, err := c.await(ctx, l)
	if s.sess == nil {
		return err
	}
	stream, err := s.sess.open(ctx, &l.spawn)
	if err != nil {
		// Otherwise the next inventory of the node says what became of it.
		if !errors.Is(err, errHalfSent) {
			if err := c.m.post(ctx, func(core *core) { core.broken(l) }); err != nil {
				return err
			}
		}
		_, err = c.await(ctx, l)
		return err
	}
	defer stream.Close()
	l.spawn.Command = wire.Command{} // a process may run for months; its environment need not stay
	started, err := c.await(ctx, l)
	if err != nil || started.failed != nil {
		return err
	}
	// A client that is gone is found out by relay.
	_ = c.reply(new(wire.Started))
	return c.relay(ctx, l.spawn.PID, s.sess, stream)
}

// await waits for the next step of a launch. A failure is reported to the
// client; the error is then what became of that.
func (c *clientConn) await(ctx context.Context, l *launch) (step, error) {
	select {
	case s := <-l.steps:
		if s.failed != nil {
			return s, c.reply(s.failed)
		}
		return s, nil
	case <-ctx.Done():
		return step{}, context.Cause(ctx)
	}
}

// relay copies the bytes of standard descriptors in both directions until the
// client has left. The node's end of the stream tells only that the process has
// no descriptor left that is a stream; the process itself may go on.
func (c *clientConn) relay(ctx context.Context, pid wire.PID, s *session, stream stream) error {
	var group errgroup.Group
	group.Go(func() error {
		err := relayOut(ctx, c.conn, stream, &s.barrier)
		return errors.Join(err, c.conn.CloseWrite())
	})
	group.Go(func() error {
		err := errors.Join(relayIn(c.conn, stream), stream.Close())
		c.clientLeft(ctx, pid)
		return err
	})
	return group.Wait()
}

// maxArguments bounds the number of arguments and variables of a command.
const maxArguments = 1 << 20

func checkCommand(cmd *wire.Command) error {
	switch {
	case len(cmd.Argv) == 0:
		return errors.New("a command without a name")
	case len(cmd.Argv)+len(cmd.Env) > maxArguments:
		return fmt.Errorf("%d arguments and variables, at most %d are allowed", len(cmd.Argv)+len(cmd.Env), maxArguments)
	case len(cmd.Limits) > 64:
		return fmt.Errorf("%d resource limits", len(cmd.Limits))
	}
	return nil
}
