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

// maxNodeViews bounds the streams by which processes on one node look, each until nothing is left
// of it: the link refuses more. A view has one for each node of the cluster.
const maxNodeViews = 4096

// views are the streams that a slave opens for processes on its node that look. Their ends are not
// waited for: they have the context, as clients have.
type views struct {
	c     *slaveConn
	shut  func()        // ends all looks from the node
	begun chan struct{} // closed when they are served
	free  chan struct{}
	all   sync.WaitGroup
}

func newViews(c *slaveConn, shut func()) *views {
	return &views{c: c, shut: shut, begun: make(chan struct{}), free: make(chan struct{}, maxNodeViews)}
}

// begin begins to serve the streams: the node is known.
func (v *views) begin() {
	v.c.m.state.lookFrom(v.c, v.shut)
	close(v.begun)
}

// wait waits for the streams, when the context of take has ended.
func (v *views) wait() { v.all.Wait() }

// take serves a stream when there is room for it. ctx is that of looking.
func (v *views) take(ctx context.Context, st link.Stream) {
	select {
	case <-v.begun:
	case <-v.c.session.Done():
		return
	}
	select {
	case v.free <- struct{}{}:
	case <-v.c.session.Done():
		return
	}
	v.all.Go(func() {
		defer func() { <-v.free }()
		if err := v.c.view(ctx, dropped{st}); err != nil && ctx.Err() == nil {
			v.c.m.log.Warn("a node did not say who looks", "node", v.c.node, "err", err)
		}
		select {
		case <-st.Gone():
		case <-v.c.session.Done():
		}
	})
}

// view serves a process on a node that looks.
func (c *slaveConn) view(ctx context.Context, st link.Stream) error {
	defer st.Close()
	stop := context.AfterFunc(ctx, func() { st.Close() })
	defer stop()
	if err := st.SetReadDeadline(time.Now().Add(firstFrame)); err != nil {
		return err
	}
	reader := wire.NewReader(st)
	reader.Admit(atMost(smallLoad))
	first, _, err := reader.Read()
	if err != nil {
		return err
	}
	who, ok := first.(*wire.Viewer)
	if !ok {
		return fmt.Errorf("%w: type %d", core.ErrUnexpected, first.Type())
	}
	(&clientConn{
		m: c.m, log: c.m.log, conn: st, who: core.Caller{PID: who.PID, UID: who.UID, GID: who.GID}, from: c, event: who.Event,
		spoken: func() {}, steps: make(chan step, maxSteps),
	}).serve(ctx)
	return nil
}

// ofViewer reports whether a request is one for looking.
func ofViewer(m wire.Message) bool {
	switch m.(type) {
	case *wire.ListNodes, *wire.Look, *wire.Inspect:
		return true
	}
	return false
}

// ofProcess reports whether a request is one that only a process of a node makes.
func ofProcess(m wire.Message) bool {
	switch m.(type) {
	case *wire.Run, *wire.Attach:
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

// enter counts a look of a client. The caller calls leave when it has ended. Looks from nodes are
// counted there by user, and here by node.
func (c *clientConn) enter() (leave func(), ok bool) {
	if c.from != nil {
		return func() {}, true
	}
	return c.m.viewers.enter(c.who.UID)
}

// everybody is a user without rights (package status).
var everybody = core.Caller{UID: core.OverflowUser, GID: core.OverflowUser}

// asks returns the user as whom something is looked up for a client. A node may ask anything about
// its own processes. About others it is believed to ask for a user only if the front end has
// started one of the node's processes for that user: root there can act as any user who has a
// process on the node, and as no other. Root of a node is not root here.
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
