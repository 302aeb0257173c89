package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
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

	ends <-chan struct{} // closed when the master ends, or the session with that node; nothing is answered after that

	pid    wire.PID // of its process, once the core has said so; under state.mu
	asked  uint64   // how often the core has had the stream of its process opened; under state.mu
	opened uint64   // which of these times it was
	over   bool     // the core knows what has become of its process

	id     core.Client     // once the core knows it
	steps  chan step       // of its launch
	ended  chan wire.Ended // how its process has ended; nil: it does not want to know
	answer wire.Message    // of the core, to its request

	bytes   int    // of the request
	spoken  func() // to be called when it has said what it wants
	settled func() // to be called when what it has said is not needed any more
}

// serve handles a connection to its end.
func (c *clientConn) serve(ctx context.Context) { c.serveAsked(ctx, ctx) }

// serveAsked is serve, but waits for the request only until asking ends.
func (c *clientConn) serveAsked(ctx, asking context.Context) {
	c.settled, c.ends = func() {}, ctx.Done()
	defer c.conn.Close()
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	c.conn.SetReadDeadline(time.Now().Add(firstFrame))
	reader := wire.NewReader(c.conn)
	reader.Admit(func(bytes int) error { return c.admit(asking, bytes) })
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
	if c.bytes = bytes; bytes <= smallLoad {
		return nil
	}
	if c.settled, err = c.m.loads.take(ctx, c.payer(), bytes); err != nil {
		return err
	}
	return c.conn.SetReadDeadline(time.Now().Add(firstFrame))
}

// payer returns who pays for the room of a request: a user or a node.
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
	if do := handlers[m.Type()]; do != nil {
		return do(c, ctx, m)
	}
	return c.reply(&wire.Refused{Reason: "the master does not take this request from a client"})
}

// handlers are for what clients can ask for.
var handlers = map[wire.Type]func(*clientConn, context.Context, wire.Message) error{
	wire.TypeRun:          with((*clientConn).run),
	wire.TypeRunMany:      with((*clientConn).runMany),
	wire.TypeAttach:       with((*clientConn).attach),
	wire.TypeBypass:       with((*clientConn).bypass),
	wire.TypeListNodes:    with((*clientConn).listNodes),
	wire.TypeListProcs:    with((*clientConn).listProcs),
	wire.TypeListNumbers:  with((*clientConn).listNumbers),
	wire.TypeSetNodes:     with((*clientConn).setNodes),
	wire.TypeEnroll:       with((*clientConn).enroll),
	wire.TypeListTokens:   with((*clientConn).listTokens),
	wire.TypeRevokeToken:  with((*clientConn).revokeToken),
	wire.TypeRevoke:       with((*clientConn).revoke),
	wire.TypeReload:       with((*clientConn).reload),
	wire.TypePowerOn:      with((*clientConn).powerOn),
	wire.TypeReadLog:      with((*clientConn).readLog),
	wire.TypeBirths:       with((*clientConn).births),
	wire.TypeAwaitNodes:   with((*clientConn).awaitNodes),
	wire.TypeAwaitNames:   with((*clientConn).awaitNames),
	wire.TypeListHardware: with((*clientConn).listHardware),
	wire.TypeListLoads:    with((*clientConn).listLoads),
	wire.TypeLook:         with((*clientConn).look),
	wire.TypeInspect:      with((*clientConn).inspect),
}

// with makes a function for one kind of message one for all.
func with[M wire.Message](do func(*clientConn, context.Context, M) error) func(*clientConn, context.Context, wire.Message) error {
	return func(c *clientConn, ctx context.Context, m wire.Message) error { return do(c, ctx, m.(M)) }
}

// versionOf returns the version of the protocol that a message says; ours if it says none.
func versionOf(m wire.Message) uint16 {
	if v := reflect.Indirect(reflect.ValueOf(m)).FieldByName("Version"); v.IsValid() {
		return uint16(v.Uint())
	}
	return wire.Version
}

// errEnds means that a client is not answered. It asks the next master.
var errEnds = errors.New("the master ends, or the session with the client's node")

// reply answers a client, which must read that in time: its connection takes a descriptor from others. At the end
// of the master nothing is answered: what failed then may have failed for that reason.
func (c *clientConn) reply(m wire.Message) error {
	select {
	case <-c.ends:
		return errEnds
	default:
	}
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

// Bytes that a node and a process take in an answer, about, and while that is made.
const (
	nodeBytes = 256
	procBytes = 16
)

// withRoom gives an answer of about so many bytes when there is room for it. While a client reads slowly, that
// room is not there for other clients of its user.
func (c *clientConn) withRoom(ctx context.Context, bytes int, answer func() wire.Message) error {
	if bytes <= smallLoad {
		return c.reply(answer())
	}
	leave, err := c.seat()
	if leave == nil {
		return err
	}
	defer leave()
	release, err := c.m.answers.take(ctx, c.payer(), bytes)
	if err != nil {
		return errors.Join(err, c.failed(wire.StageRequest, unix.EAGAIN, "answers to this user take too much memory"))
	}
	defer release()
	return c.reply(answer())
}

func (c *clientConn) listNodes(ctx context.Context, _ *wire.ListNodes) error {
	list, nodes := &wire.NodeList{Here: c.here()}, 0
	c.m.state.look(func(core *core.Core) { nodes = core.NodeCount() })
	return c.withRoom(ctx, nodes*nodeBytes, func() wire.Message {
		c.m.state.look(func(core *core.Core) { list.Nodes = core.NodeList() })
		return list
	})
}

func (c *clientConn) listNumbers(ctx context.Context, _ *wire.ListNumbers) error {
	list, nodes := new(wire.NumberList), 0
	c.m.state.look(func(core *core.Core) { nodes = core.NodeCount() })
	return c.withRoom(ctx, nodes*nodeBytes, func() wire.Message {
		c.m.state.look(func(core *core.Core) { *list = core.NumberList() })
		return list
	})
}

func (c *clientConn) listProcs(ctx context.Context, _ *wire.ListProcs) error {
	list, procs := new(wire.ProcList), 0
	c.m.state.look(func(core *core.Core) { procs = core.Size() })
	return c.withRoom(ctx, procs*procBytes, func() wire.Message {
		c.m.state.look(func(core *core.Core) { list.Procs = core.Procs() })
		return list
	})
}

// moreNodes is by how many a change may name more nodes than there are: some may be unknown.
const moreNodes = 1024

func (c *clientConn) setNodes(ctx context.Context, m *wire.SetNodes) error {
	nodes := 0
	c.m.state.look(func(core *core.Core) { nodes = core.NodeCount() })
	if len(m.Nodes) > nodes+moreNodes {
		return c.failed(wire.StageRequest, unix.EINVAL, fmt.Sprintf("%d nodes are named, there are %d", len(m.Nodes), nodes))
	}
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
