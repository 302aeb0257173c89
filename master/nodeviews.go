package master

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bproc/master/core"
	"bproc/wire"
	"bproc/wire/link"
)

// maxNodeViews bounds the streams by which those on one node look, until nothing is left
// of them: the link refuses more. A view has one for each node of the cluster.
const maxNodeViews = 4096

// views takes the streams that a slave opens for those on its node who look, until the
// link ends. Their ends are not waited for: they have the context, as clients have.
func (c *slaveConn) views(ctx context.Context) error {
	var views sync.WaitGroup
	defer views.Wait()
	looking, shut := context.WithCancel(ctx)
	defer shut()
	c.m.state.lookFrom(c, shut)
	free := make(chan struct{}, maxNodeViews)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		st, err := c.session.Accept(ctx)
		if err != nil {
			return err
		}
		views.Go(func() {
			defer func() { <-free }()
			if err := c.view(looking, dropped{st}); err != nil && looking.Err() == nil {
				c.m.log.Warn("a node did not say who looks", "node", c.node, "err", err)
			}
			select {
			case <-st.Gone():
			case <-ctx.Done():
			}
		})
	}
}

// view serves somebody on a node.
func (c *slaveConn) view(ctx context.Context, st link.Stream) error {
	defer st.Close()
	stop := context.AfterFunc(ctx, func() { st.Close() })
	defer stop()
	if err := st.SetReadDeadline(time.Now().Add(firstFrame)); err != nil {
		return err
	}
	first, _, err := wire.NewReader(st).Read()
	if err != nil {
		return err
	}
	who, ok := first.(*wire.Viewer)
	if !ok {
		return fmt.Errorf("%w: type %d", core.ErrUnexpected, first.Type())
	}
	(&clientConn{
		m: c.m, log: c.m.log, conn: st, who: core.Caller{UID: who.UID, GID: who.GID}, from: c, spoken: func() {},
	}).serve(ctx)
	return nil
}

// ofViewer reports whether a request is one of those who look.
func ofViewer(m wire.Message) bool {
	switch m.(type) {
	case *wire.ListNodes, *wire.Look, *wire.Inspect:
		return true
	}
	return false
}

// here returns the node that the client is on, nil for the front end.
func (c *clientConn) here() *wire.NodeID {
	if c.from == nil {
		return nil
	}
	node := c.from.node
	return &node
}

// enter counts a look of a client; leave is to be called when it has ended. Those on
// nodes are counted there, by user, and here by node.
func (c *clientConn) enter() (leave func(), ok bool) {
	if c.from != nil {
		return func() {}, true
	}
	return c.m.viewers.enter(c.who.UID)
}

// everybody is a user who has nothing (package status).
var everybody = core.Caller{UID: core.OverflowUser, GID: core.OverflowUser}

// asks returns as whom something is looked up for a client. A node may ask anything
// about its own processes. About others it is believed to ask for a user only if one of
// the processes there was started by that user from here: who is root there can be
// whoever has a process on the node, and nobody else. Nor is root of a node root here.
func (c *clientConn) asks(ctx context.Context, m *wire.Inspect) (core.Caller, error) {
	who := c.who
	if m.For != nil && who.UID == 0 {
		who = core.Caller{UID: m.For.UID, GID: m.For.GID}
	}
	if c.from == nil || m.Node == c.from.node {
		return who, nil
	}
	if who.UID == 0 {
		return everybody, nil
	}
	started := false
	c.m.state.look(func(core *core.Core) { started = core.StartedBy(c.from.node, who.UID) })
	if !started {
		return everybody, nil
	}
	return who, nil
}
