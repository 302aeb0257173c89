package master

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// firstMessage is how long a slave may take for its inventory.
const firstMessage = 30 * time.Second

// slaveConn is a session with a slave, as the master's goroutines see it.
type slaveConn struct {
	*session
	m    *Master
	link *link.Session
}

// accept takes a new session over. It is called by the listener.
func (m *Master) accept(ctx context.Context, peer link.Peer, l *link.Session) {
	c := &slaveConn{session: &session{peer: peer, link: l}, m: m, link: l}
	c.session.streams = l
	m.slaves.Go(func() error {
		err := c.run(ctx)
		m.log.Debug("session of a slave ended", "node", c.node, "err", err)
		return nil // one slave's end is not the master's
	})
}

func (c *slaveConn) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.link.Run(ctx) })
	group.Go(func() error {
		err := c.control(ctx)
		if err != nil {
			c.link.Close(err)
		}
		return err
	})
	err := group.Wait()
	_ = c.m.do(context.WithoutCancel(ctx), func(core *core) { core.sessionEnded(c.session, err, time.Now()) })
	return err
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
	stream.SetReadDeadline(time.Time{})
	inventory, ok := first.(*wire.Inventory)
	if !ok {
		return errUnexpected
	}
	if err := pidmap.Validate(inventory.Blocks); err != nil {
		return fmt.Errorf("inventory of a slave: %w", err)
	}
	c.inventory = *inventory
	if c.peer.Arch != runtime.GOARCH {
		c.m.log.Info("node has another architecture than the front end", "addr", c.peer.Addr, "arch", c.peer.Arch)
	}
	out := newOutbox(stream)
	c.out = out
	group, ctx := errgroup.WithContext(ctx)
	group.Go(out.Run)
	group.Go(func() error {
		defer out.Close()
		return c.receive(ctx, reader)
	})
	return group.Wait()
}

func (c *slaveConn) receive(ctx context.Context, reader *wire.Reader) error {
	var upErr error
	if err := c.m.do(ctx, func(core *core) { upErr = core.sessionUp(c.session, time.Now()) }); err != nil || upErr != nil {
		return errors.Join(err, upErr)
	}
	for {
		msg, _, err := reader.Read()
		if err != nil {
			return err
		}
		if err := c.m.post(ctx, func(core *core) { core.fromSlave(c.session, msg) }); err != nil {
			return err
		}
	}
}

// open opens the stream of a process and sends its first frame.
func (s *session) open(ctx context.Context, spawn *wire.Spawn) (stream, error) {
	frame, err := wire.Append(nil, 0, spawn)
	if err != nil {
		return nil, err
	}
	st, err := s.streams.Open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := st.Write(frame); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}
