package master

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/internal/outbox"
	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// firstMessage is how long a slave may take for its inventory.
const firstMessage = 30 * time.Second

// slaveConn is a session with a slave, as the master's goroutines see it.
type slaveConn struct {
	*session
	m     *Master
	link  *link.Session
	turns chan struct{} // taken by its messages that wait for the core
}

// accept takes a new session over. It is called by the listener.
func (m *Master) accept(ctx context.Context, peer link.Peer, l *link.Session) {
	c := &slaveConn{session: &session{peer: peer, link: l}, m: m, link: l, turns: make(chan struct{}, maxTurns)}
	c.streams = dropping{l}
	m.slaves.Go(func() error {
		err := c.run(ctx)
		m.memory.Soon()
		m.log.Debug("session of a slave ended", "node", c.node, "err", err)
		return nil // one slave's end is not the master's
	})
}

// dropping opens streams that are dropped when they are closed: the master closes what
// nobody wants any more.
type dropping struct{ *link.Session }

func (d dropping) Open(ctx context.Context) (link.Stream, error) {
	st, err := d.Session.Open(ctx)
	if err != nil {
		return nil, err
	}
	return dropped{st}, nil
}

type dropped struct{ link.Stream }

func (d dropped) Close() error { return d.Drop() }

func (c *slaveConn) run(ctx context.Context) error {
	group, linked := errgroup.WithContext(ctx)
	group.Go(func() error { return c.link.Run(linked) })
	group.Go(func() error {
		err := c.control(linked)
		if err != nil {
			c.link.Close(err)
		}
		return err
	})
	err := group.Wait()
	// A master that stops takes leave of its nodes and ends nothing on them: do
	// does nothing then.
	return errors.Join(err, c.m.do(ctx, func(core *core) { core.sessionEnded(c.session, err, time.Now()) }))
}

// control handles the control stream, which the slave opens.
func (c *slaveConn) control(ctx context.Context) error {
	stream, err := c.link.Accept(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.SetReadDeadline(time.Now()) })
	defer stop()
	stream.SetReadDeadline(time.Now().Add(firstMessage))
	reader := wire.NewReader(stream)
	first, _, err := reader.Read()
	if err != nil {
		return fmt.Errorf("inventory of a slave: %w", err)
	}
	inventory, ok := first.(*wire.Inventory)
	if !ok {
		return errUnexpected
	}
	if err := pidmap.Validate(inventory.Blocks); err != nil {
		return fmt.Errorf("inventory of a slave: %w", err)
	}
	c.inventory = *inventory
	between, err := c.readAgain(newRetelling(reader))
	if err != nil {
		return fmt.Errorf("what a slave tells again: %w", err)
	}
	stream.SetReadDeadline(time.Time{})
	if c.peer.Arch != runtime.GOARCH {
		c.m.log.Info("node has another architecture than the front end", "addr", c.peer.Addr, "arch", c.peer.Arch)
	}
	out, done := outbox.New(func() { c.link.Close(outbox.ErrFull) }), make(chan struct{})
	out.Open()
	c.out = out
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return out.Run(done, stream) })
	group.Go(func() error {
		defer close(done)
		defer out.Close()
		return c.receive(ctx, reader, between)
	})
	return group.Wait()
}

func (c *slaveConn) receive(ctx context.Context, reader *wire.Reader, between []early) error {
	var upErr error
	if err := c.m.do(ctx, func(core *core) {
		now := time.Now()
		if upErr = core.alone(c.session, now); upErr == nil {
			upErr = core.sessionUp(c.session, now)
		}
	}); err != nil || upErr != nil {
		return errors.Join(err, upErr)
	}
	for _, e := range between {
		if err := c.m.post(ctx, func(core *core) { core.fromSlave(c.session, e.number, e.msg) }); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.views(ctx) })
	group.Go(func() error { return c.listen(ctx, reader) })
	return group.Wait()
}

// listen takes what a slave says on the control stream, to its end.
func (c *slaveConn) listen(ctx context.Context, reader *wire.Reader) error {
	bytes := newAdmitter()
	reader.Admit(func(n int) error { return bytes.admit(ctx, n) })
	for {
		msg, number, err := reader.Read()
		if err != nil {
			return err
		}
		if err := c.turn(ctx); err != nil {
			return err
		}
		handled := bytes.handled()
		if err := c.m.post(ctx, func(core *core) {
			core.fromSlave(c.session, number, msg)
			<-c.turns
			handled()
		}); err != nil {
			return err
		}
		if bytes.taken > largeMessage {
			c.m.memory.Soon()
		}
		if err := c.keepUp(ctx, msg); err != nil {
			return err
		}
	}
}

// maxTurns bounds the messages of a node that wait for the core. So one that says a lot
// makes others wait for these, and not for a queue that it has filled.
const maxTurns = 8

// turn waits until one more message of the node may wait for the core.
func (c *slaveConn) turn(ctx context.Context) error {
	select {
	case c.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxBehind bounds the events of a node whose consequences are not in place, and
// maxUncertain those of which something else is to be done yet, such as a command line of a
// ghost. A node that forks faster than ghosts can be made is not listened to for a while.
// Before that it freezes its processes, unless it is up to something.
const (
	maxBehind    = 1 << 16
	maxUncertain = 2 * maxBehind
)

// keepUp waits until the front end is not too far behind the node.
func (c *slaveConn) keepUp(ctx context.Context, m wire.Message) error {
	events, ok := m.(*wire.Events)
	if !ok || events.First < maxBehind {
		return nil
	}
	if err := c.barrier.Wait(ctx, events.First-maxBehind); err != nil || events.First < maxUncertain {
		return err
	}
	return c.certain.Wait(ctx, events.First-maxUncertain)
}

// open opens a stream and sends its first frame. With a message that is too long the
// error is wire.ErrFrame; else a session on which that is not possible has ended.
func (s *session) open(ctx context.Context, first wire.Message) (stream, error) {
	frame, err := wire.Append(nil, 0, first)
	if err != nil {
		return nil, err
	}
	st, err := s.streams.Open(ctx)
	if err != nil {
		s.endWith(ctx, err)
		return nil, err
	}
	if _, err := st.Write(frame); err != nil {
		st.Close()
		s.endWith(ctx, err)
		return nil, err
	}
	return st, nil
}

// endWith ends a session, unless it is the master that ends.
func (s *session) endWith(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.link.Close(err)
	}
}
