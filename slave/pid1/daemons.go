package pid1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"bproc/slave/pid1/rights"
	"bproc/wire"
)

// acceptPause is the pause before accepting again when there were no descriptors or no memory for a
// connection.
const acceptPause = 100 * time.Millisecond

// accept serves each daemon that connects, in place of the one before.
func (in *Init) accept(ctx context.Context, g *errgroup.Group) error {
	defer func() {
		if c := in.newest.Load(); c != nil {
			_ = c.Close()
		}
	}()
	before := make(chan struct{})
	close(before)
	for {
		sock, err := in.cfg.Listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept: %w", err)
		case err != nil:
			in.cfg.Log.Warn("cannot accept a daemon", "err", err)
			time.Sleep(acceptPause)
			continue
		}
		c, err := rights.New(sock)
		if err != nil {
			in.cfg.Log.Warn("cannot serve a daemon", "err", err)
			continue
		}
		if uid, err := c.PeerUID(); err != nil || uid != 0 {
			in.cfg.Log.Warn("refused a peer that is not root", "uid", uid, "err", err)
			_ = c.Close()
			continue
		}
		before = in.replace(g, c, before)
	}
}

// replace serves a daemon after the one before. The requests that the former daemon has written
// take effect first, whether it lives or has died; it cannot write more. The channel is closed when
// the new daemon has gone, too.
func (in *Init) replace(g *errgroup.Group, c *rights.Conn, before <-chan struct{}) (ended chan struct{}) {
	if old := in.newest.Swap(c); old != nil {
		_ = old.Shut() // it may have closed by itself
	}
	ended = make(chan struct{})
	g.Go(func() error {
		defer close(ended)
		<-before
		in.serve(g, c)
		return nil
	})
	return ended
}

// serve reads the requests of one daemon.
func (in *Init) serve(g *errgroup.Group, c *rights.Conn) {
	in.deputy.dismiss()
	defer in.deputy.recall()
	defer in.order.leave(c)
	if err := in.greet(g, c); err != nil {
		in.cfg.Log.Warn("daemon gone before it was greeted", "err", err)
		return
	}
	for {
		m, number, fds, err := c.Read()
		if err == nil {
			err = in.request(g, c, m, number, fds)
		}
		if err != nil {
			in.cfg.Log.Info("daemon gone", "err", err)
			return
		}
	}
}

// greet makes c the connection for statuses. It sends the daemon what a former one may not have
// used.
func (in *Init) greet(g *errgroup.Group, c *rights.Conn) error {
	return in.order.enter(c, func() error {
		if in.newest.Load() != c {
			return net.ErrClosed // replaced before its turn
		}
		in.lapse(g) // init may have been frozen until now, so that the timer's reader has not run
		pids, err := in.aliveLocked()
		if err != nil {
			return err
		}
		ready := &wire.InitReady{PIDs: pids, Starting: in.launches.pids(), Stored: uint32(in.stored.names())}
		if err := c.Write(0, ready, append(in.deputy.tools(), in.fence.give)...); err != nil {
			return err
		}
		if err := in.stored.tell(c); err != nil {
			return err
		}
		return in.order.kept.tell(c)
	})
}
