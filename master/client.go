package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// firstFrame is how long a client may take to say what it wants.
const firstFrame = 10 * time.Second

// replyTime is how long a client may take to read an answer.
const replyTime = 30 * time.Second

// clientConn is the connection of one client: one request, or one process. That of
// somebody on a node who looks is a stream of the node's daemon (nodeviews.go).
type clientConn struct {
	m    *Master
	log  *slog.Logger
	conn stream
	who  core.Caller
	from *slaveConn // of that node; nil: the client is on the front end

	event uint64 // of that node, after which who is known

	id     core.Client     // once the core knows it
	steps  chan step       // of its launch
	ended  chan wire.Ended // how its process has ended; nil: it does not want to know
	answer wire.Message    // of the core, to its request

	spoken  func() // to be called when it has said what it wants
	settled func() // to be called when what it has said is not needed any more
}

// serve handles a connection to its end.
func (c *clientConn) serve(ctx context.Context) {
	c.settled = func() {}
	defer c.conn.Close()
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	c.conn.SetReadDeadline(time.Now().Add(firstFrame))
	reader := wire.NewReader(c.conn)
	reader.Admit(func(bytes int) error { return c.admit(ctx, bytes) })
	m, _, err := reader.Read()
	c.spoken()
	defer c.settled()
	if err != nil {
		switch {
		case errors.Is(err, io.EOF):
		case errors.Is(err, errLoad):
			_ = c.failed(wire.StageRequest, unix.EAGAIN, "requests of this user take too much memory")
		default:
			c.log.Warn("a client did not make a request", "pid", c.who.PID, "uid", c.who.UID, "err", err)
		}
		return
	}
	c.conn.SetReadDeadline(time.Time{})
	if err := c.request(ctx, m); err != nil {
		c.log.Debug("a client's request ended", "pid", c.who.PID, "msg", m.Type(), "err", err)
	}
}

// admit waits until there is room for a request. Those of a node, which says itself who
// makes them, are small, unless they are of a process: then the node pays for them.
func (c *clientConn) admit(ctx context.Context, bytes int) (err error) {
	if c.from != nil && c.who.PID == 0 && bytes > smallLoad {
		return fmt.Errorf("%w: %d bytes in a request of a node", wire.ErrFrame, bytes)
	}
	if bytes <= smallLoad {
		return nil
	}
	if c.settled, err = c.m.loads.take(ctx, c.payer(), bytes); err != nil {
		return err
	}
	return c.conn.SetReadDeadline(time.Now().Add(firstFrame))
}

// payer is whose room a request takes: a user's, or that of a node.
func (c *clientConn) payer() int64 {
	if c.from == nil {
		return int64(c.who.UID)
	}
	return -1 - int64(c.from.node)
}

func (c *clientConn) request(ctx context.Context, m wire.Message) error {
	if v := versionOf(m); v < wire.MinVersion || v > wire.Version {
		return c.reply(&wire.Refused{Reason: fmt.Sprintf("the master speaks protocol versions %d to %d, the client %d", wire.MinVersion, wire.Version, v)})
	}
	if c.from != nil && !ofViewer(m) && (!ofProcess(m) || c.who.PID == 0) {
		return c.reply(&wire.Refused{Reason: "the master does not take this request from a node"})
	}
	switch m := m.(type) {
	case *wire.Run:
		return c.run(ctx, m)
	case *wire.Attach:
		return c.attach(ctx, m)
	case *wire.Bypass:
		return c.bypass(ctx, m)
	case *wire.ListNodes:
		return c.listNodes()
	case *wire.ListProcs:
		return c.listProcs()
	case *wire.ListNumbers:
		return c.listNumbers()
	case *wire.SetNodes:
		return c.setNodes(ctx, m)
	case *wire.Enroll:
		return c.enroll(ctx, m)
	case *wire.ListTokens:
		return c.listTokens()
	case *wire.RevokeToken:
		return c.revokeToken(m)
	case *wire.Revoke:
		return c.revoke(ctx, m)
	case *wire.Reload:
		return c.reload(ctx)
	case *wire.PowerOn:
		return c.powerOn(ctx, m)
	case *wire.ReadLog:
		return c.readLog(ctx, m)
	case *wire.Births:
		return c.births(ctx, m)
	case *wire.AwaitNodes:
		return c.awaitNodes(ctx, m)
	case *wire.AwaitNames:
		return c.awaitNames(ctx, m)
	case *wire.ListHardware:
		return c.listHardware(ctx, m)
	case *wire.ListLoads:
		return c.listLoads(ctx, m)
	case *wire.Look:
		return c.look(ctx, m)
	case *wire.Inspect:
		return c.inspect(ctx, m)
	}
	return c.reply(&wire.Refused{Reason: "the master does not take this request from a client"})
}

func versionOf(m wire.Message) uint16 {
	switch m := m.(type) {
	case *wire.Run:
		return m.Version
	case *wire.Attach:
		return m.Version
	case *wire.Bypass:
		return m.Version
	case *wire.ListNodes:
		return m.Version
	case *wire.ListProcs:
		return m.Version
	case *wire.ListNumbers:
		return m.Version
	case *wire.SetNodes:
		return m.Version
	case *wire.Enroll:
		return m.Version
	case *wire.ListTokens:
		return m.Version
	case *wire.RevokeToken:
		return m.Version
	case *wire.Revoke:
		return m.Version
	case *wire.PowerOn:
		return m.Version
	case *wire.ReadLog:
		return m.Version
	case *wire.Reload:
		return m.Version
	case *wire.Births:
		return m.Version
	case *wire.AwaitNodes:
		return m.Version
	case *wire.AwaitNames:
		return m.Version
	case *wire.ListHardware:
		return m.Version
	case *wire.ListLoads:
		return m.Version
	case *wire.Look:
		return m.Version
	case *wire.Inspect:
		return m.Version
	}
	return wire.Version
}

// reply answers a client, which must read that in time: its connection takes a
// descriptor from others.
func (c *clientConn) reply(m wire.Message) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(replyTime)); err != nil {
		return err
	}
	if err := wire.Write(c.conn, 0, m); err != nil {
		return err
	}
	return c.conn.SetWriteDeadline(time.Time{})
}

func (c *clientConn) failed(stage wire.Stage, errno unix.Errno, text string) error {
	return c.reply(&wire.Failed{Stage: stage, Errno: uint32(errno), Text: text})
}

func (c *clientConn) listNodes() error {
	list := &wire.NodeList{Here: c.here()}
	c.m.state.look(func(core *core.Core) { list.Nodes = core.NodeList() })
	return c.reply(list)
}

func (c *clientConn) listNumbers() error {
	list := new(wire.NumberList)
	c.m.state.look(func(core *core.Core) { *list = core.NumberList() })
	return c.reply(list)
}

func (c *clientConn) listProcs() error {
	list := new(wire.ProcList)
	c.m.state.look(func(core *core.Core) { list.Procs = core.Procs() })
	return c.reply(list)
}

func (c *clientConn) setNodes(ctx context.Context, m *wire.SetNodes) error {
	leave := c.m.state.enterClient(c)
	defer leave()
	return c.replyWith(c.m.state.step(ctx, core.SetNodes{Client: c.id, Who: c.who, Change: *m}))
}

func (c *clientConn) revoke(ctx context.Context, m *wire.Revoke) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may revoke nodes")
	}
	leave := c.m.state.enterClient(c)
	defer leave()
	return c.replyWith(c.m.state.step(ctx, core.Revoke{Client: c.id, Node: m.Node}))
}

// replyWith passes on what the core answered when it took a request.
func (c *clientConn) replyWith(err error) error {
	if err != nil {
		return err
	}
	return c.reply(c.answer)
}
