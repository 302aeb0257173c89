package master

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// run starts a process on a node in place of the client's ghost, and carries
// the bytes of its standard descriptors.
func (c *clientConn) run(ctx context.Context, m *wire.Run) error {
	if err := checkCommand(&m.Command); err != nil {
		return c.failed(wire.StageRequest, unix.EINVAL, err.Error())
	}
	if m.Launch == 0 { // it would stand for any process
		return c.failed(wire.StageRequest, unix.EINVAL, "a launch without a number")
	}
	leave, err := c.seat()
	if leave == nil {
		return err
	}
	defer leave()
	releases, err := c.admitLaunch(ctx, memoryFor(&m.Command, nil))
	if err != nil {
		return err
	}
	c.settled = releases[0]
	defer c.settled()
	c.wantsEnded(m.Report)
	from, err := c.nests(ctx, m)
	if err != nil {
		return err
	}
	l := c.newLaunch(m)
	l.nested = from != 0
	defer c.m.state.enterClient(c)()
	defer func() { c.giveUp(ctx, m.Launch) }()
	limit, _ := c.m.kernel.limit(c.who.PID) // 0: it has just ended
	in := c.runInput(m, limit)
	in.From = from
	if from != 0 {
		in.Argv, in.Leads = m.Command.Argv, m.Leads || m.Command.Terminal != nil
	}
	in.GhostExists = m.Again && c.m.kernel.exists(m.Ghost) == nil
	m.Command = wire.Command{}
	if err := c.m.state.step(ctx, in); err != nil {
		return err
	}
	return c.start(ctx, l)
}

// newLaunch returns the launch that a client asks for.
func (c *clientConn) newLaunch(m *wire.Run) *launch {
	return &launch{node: m.Node, hangUp: m.HangUp, spawn: wire.Spawn{
		PID: m.Ghost, Parent: c.who.PID,
		UID: c.who.UID, GID: c.who.GID, Groups: c.who.Groups,
		Command: m.Command, Launch: m.Launch,
	}}
}

// runInput returns the core's input for a Run. limit is the client's limit of processes.
func (c *clientConn) runInput(m *wire.Run, limit uint64) core.Run {
	return core.Run{Client: c.id, Who: c.who, Node: m.Node, PID: m.Ghost, Launch: m.Launch, HangUp: m.HangUp, Again: m.Again, Report: m.Report, Ends: m.Ends, Limit: limit}
}

// seat takes a seat for a connection that stays, or refuses the request: then leave is nil.
func (c *clientConn) seat() (leave func(), err error) {
	who := c.payer()
	if c.m.seats.shares.Take(who, 1) {
		return func() { c.m.seats.shares.Leave(who, 1) }, nil
	}
	return nil, c.failed(wire.StageRequest, unix.EMFILE, fmt.Sprintf("the master has descriptors for %d processes at a time, and this user's share is in use; raise its limit of open files", c.m.seats.most))
}

// start does what the steps of a launch say, up to the one that settles it. The stream
// of a session that ends before the process is known to run is lost with it; there may be
// another step with the next session of the node, or the client asks again.
func (c *clientConn) start(ctx context.Context, l *launch) error {
	var stream stream
	var on *slaveConn
	for {
		s, err := c.await(ctx)
		if (s.sess != nil || s.resume != nil) && stream != nil {
			_ = stream.Close() // of a session that has ended
			stream = nil
		}
		switch {
		case s.give != nil:
			s.give <- handover{stream, on}
			return errAskedAgain
		case s.take != nil:
			if stream, on, err = take(ctx, s.take); err != nil {
				return err
			}
		case s.sess != nil:
			on = s.sess
			if stream, err = c.spawn(ctx, l, &s); err != nil {
				return err
			}
		case s.resume != nil:
			c.forget(l)
			c.over = true
			m := wire.Resume{PID: l.spawn.PID, Launch: l.spawn.Launch, UID: l.spawn.UID}
			return c.resume(ctx, s.resume, &m, l.hangUp)
		case stream == nil:
			c.over = s.failed != nil
			return err
		case err != nil || s.failed != nil:
			c.over = s.failed != nil
			return errors.Join(err, c.leave(ctx, stream))
		default:
			c.forget(l)
			c.over = true
			// A client that is gone is found out by relay.
			_ = c.reply(started(l))
			return c.relay(ctx, l.spawn.PID, on, stream)
		}
	}
}

// errAskedAgain is why the connection of a launch ends whose client has made another.
var errAskedAgain = errors.New("the client has asked again over another connection")

// take waits for what the former connection of a launch has.
func take(ctx context.Context, former <-chan handover) (stream, *slaveConn, error) {
	select {
	case h := <-former:
		return h.stream, h.on, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// forget forgets the command of a launch: a process may run for months, and its
// environment need not stay.
func (c *clientConn) forget(l *launch) {
	l.spawn.Command = wire.Command{}
	c.settled()
}

// spawn asks a node for a process, and returns its stream. There is none when the
// session ends: its end, and the next inventory of the node, settle what became of it.
func (c *clientConn) spawn(ctx context.Context, l *launch, s *step) (stream, error) {
	l.spawn.PID, l.spawn.TaskGroup, l.spawn.Tasks = s.pid, s.taskGroup, s.tasks
	if err := l.inherit(); err != nil {
		c.log.Info("a process cannot have what its ghost has", "pid", l.spawn.PID, "err", err)
		return nil, c.m.state.step(ctx, core.Refuse{Client: c.id, PID: l.spawn.PID, Launch: l.spawn.Launch, Stage: wire.StageGhost, Errno: unix.ESRCH})
	}
	stream, err := s.sess.open(ctx, &l.spawn)
	if err == nil {
		c.opened = s.asked
	}
	switch {
	case errors.Is(err, wire.ErrFrame):
		return nil, c.m.state.step(ctx, core.Refuse{Client: c.id, PID: l.spawn.PID, Launch: l.spawn.Launch, Stage: wire.StageSpawn, Errno: unix.E2BIG})
	case err != nil:
		c.log.Debug("a node was not asked for a process", "node", l.node, "pid", l.spawn.PID, "err", err)
		return nil, nil
	}
	return stream, nil
}

// await waits for the next step of a launch. A failure is reported to the
// client; the error is then what became of that.
func (c *clientConn) await(ctx context.Context) (step, error) {
	select {
	case s := <-c.steps:
		if s.failed != nil {
			return s, c.reply(s.failed)
		}
		return s, nil
	case <-ctx.Done():
		return step{}, context.Cause(ctx)
	}
}

// leave closes a process stream: nobody wants the rest. A master that ends says no such
// thing: its clients ask the next one.
func (c *clientConn) leave(ctx context.Context, stream stream) error {
	if c.masterEnds(ctx) {
		return nil
	}
	return stream.Close()
}

// relay copies the bytes of standard descriptors in both directions until the
// client has left. A stream that ends before is lost with its session; so is the
// client's connection then, and the client asks for the process again.
func (c *clientConn) relay(ctx context.Context, pid wire.PID, s *slaveConn, stream stream) error {
	var group errgroup.Group
	var lost, left atomic.Bool
	out := newOutlet(c.conn, c.ended != nil)
	said, gone := make(chan struct{}), make(chan struct{})
	if out.reports {
		group.Go(func() error {
			defer close(said)
			return c.sayEnded(out, gone, s.link.Done())
		})
	} else {
		close(said)
	}
	wanted, unwanted := context.WithCancel(ctx)
	defer unwanted()
	group.Go(func() error {
		err := relayOut(wanted, out, stream, &s.barrier)
		if err == nil {
			<-said
		}
		lost.Store(!left.Load())
		return errors.Join(err, c.conn.Close())
	})
	group.Go(func() error {
		defer close(gone)
		err := relayIn(c.conn, &inlet{gone: c.goneFrom(pid), node: stream})
		unwanted() // the node may have said that its output comes after what never happens
		if c.cutOff() {
			_ = stream.SetReadDeadline(time.Now()) // the end of the session with the client's node waits for relayOut
			return errors.Join(err, c.away(ctx, pid, s, stream))
		}
		left.Store(true)
		err = errors.Join(err, c.leave(ctx, stream))
		if c.from != nil {
			err = errors.Join(err, c.conn.Close()) // who writes there is not told that nobody reads
		}
		told := out.toldEnd() && c.from == nil // what is on its way to a node may be lost with its link
		if lost.Load() {
			return errors.Join(err, c.say(ctx, core.ClientAway{Client: c.id, PID: pid, Told: told}))
		}
		return errors.Join(err, c.say(ctx, core.ClientLeft{Client: c.id, PID: pid, Told: told}))
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
	}
	return nil
}
