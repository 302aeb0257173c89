package master

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"sync"
	"time"

	"bproc/internal/outbox"
	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
	"bproc/wire/link"
)

// firstMessage is how long a slave may take for its inventory.
const firstMessage = 30 * time.Second

// slaveConn is a session with a slave.
type slaveConn struct {
	m       *Master
	id      core.Session
	peer    link.Peer
	link    transport
	session *link.Session
	streams opener
	out     *outbox.Outbox
	barrier barrier
	certain barrier // at the last event of which everything is done
	node    wire.NodeID
	sampled sampled
	names   bool   // the slave wants to be told what names mean
	edition uint64 // of the names that it knows; before the session is entered the session's own, then tellNames'

	ending <-chan struct{} // closed when the master ends

	entered   func() // the inventory has come, or will not
	shutViews func() // those on the node do not look any more; nil: nobody can yet
}

// transport is what is needed of a [link.Session] to end it, and to know of its connection.
type transport interface {
	Close(cause error)
	Connected() (up bool, since time.Time, changed <-chan struct{})
	Done() <-chan struct{}
}

// opener opens streams to a slave.
type opener interface {
	Open(ctx context.Context) (link.Stream, error)
}

// accept takes a new session over. It is called by the listener.
func (m *Master) accept(ctx context.Context, peer link.Peer, l *link.Session) {
	c := &slaveConn{m: m, peer: peer, link: l, session: l, streams: dropping{l}, sampled: newSampled()}
	c.entered = m.newcomers.enter(peer.Key, l)
	m.slaves.Go(func() error {
		err := c.run(ctx)
		c.entered()
		m.memory.Soon()
		m.log.Debug("session of a slave ended", "node", c.node, "err", err)
		return nil // one slave's end is not the master's
	})
}

// breakOff turns away all that wait for events of the slave.
func (c *slaveConn) breakOff() {
	c.barrier.Break()
	c.certain.Break()
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
	c.ending = ctx.Done()
	linked, end := context.WithCancel(ctx)
	defer end()
	looking, shut := context.WithCancel(linked)
	defer shut()
	views := newViews(c, shut)
	control := make(chan link.Stream, 1) // the first stream
	var serving sync.WaitGroup
	serving.Go(func() {
		first := true
		_ = c.session.Serve(linked, func(st link.Stream) {
			if first {
				first = false
				control <- st
				return
			}
			views.take(looking, st)
		})
		end()
	})
	err := c.control(linked, control, views)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c.link.Close(err) // unless it has ended, which is why this has
	end()
	serving.Wait()
	views.wait()
	err = c.session.Err()
	// A master that stops takes leave of its nodes and ends nothing on them: step does
	// nothing then.
	if c.id != 0 {
		err = errors.Join(err, c.m.state.step(ctx, core.NodeLost{Session: c.id, Cause: err}))
		c.m.state.leaveSession(c)
	}
	c.breakOff()
	return err
}

// control handles the control stream, which the slave opens.
func (c *slaveConn) control(ctx context.Context, first <-chan link.Stream, views *views) error {
	var stream link.Stream
	select {
	case stream = <-first:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.SetReadDeadline(time.Now()) })
	defer stop()
	stream.SetReadDeadline(time.Now().Add(firstMessage))
	reader := wire.NewReader(stream)
	reader.Only(wire.TypeInventory)
	up, between, err := c.inventory(reader)
	if err != nil {
		return err
	}
	stream.SetReadDeadline(time.Time{})
	if c.peer.Arch != runtime.GOARCH {
		c.m.log.Info("node has another architecture than the front end", "addr", c.peer.Addr, "arch", c.peer.Arch)
	}
	out := outbox.New(func() { c.link.Close(outbox.ErrFull) })
	out.Open()
	c.out, c.names = out, up.Inventory.Names
	c.m.tellNamesFirst(c)
	c.m.state.enterSession(c)
	c.entered()
	up.Session = c.id
	var writing sync.WaitGroup
	out.Serve(inPieces{stream}, writing.Go, c.link.Close)
	err = c.receive(ctx, reader, up, between, views)
	out.Close()
	c.link.Close(err) // what is being written is not waited for
	writing.Wait()
	return err
}

// pieceSize is how much is written to a control stream at once. yamux keeps, for each session, a
// buffer as large as the largest piece that was ever written.
const pieceSize = 2 << 10

// inPieces writes little at a time.
type inPieces struct{ io.Writer }

func (p inPieces) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		var wrote int
		wrote, err = p.Writer.Write(b[n:min(len(b), n+pieceSize)])
		n += wrote
	}
	return n, err
}

// saidBySlaves are the messages that a slave may send on a control stream after its inventory.
var saidBySlaves = []wire.Type{
	wire.TypeEvents, wire.TypeCall, wire.TypeSignalsTaken, wire.TypeBlocksWanted, wire.TypeBlocksReturned,
	wire.TypeRenewRequest, wire.TypeLeaving, wire.TypePowered, wire.TypeBounded,
}

// inventory reads what a slave says first.
func (c *slaveConn) inventory(reader *wire.Reader) (up core.NodeUp, between []early, err error) {
	first, _, err := reader.Read()
	if err != nil {
		return up, nil, fmt.Errorf("inventory of a slave: %w", err)
	}
	inventory, ok := first.(*wire.Inventory)
	if !ok {
		return up, nil, core.ErrUnexpected
	}
	if err := errors.Join(inventory.Check(), pidmap.Validate(inventory.Blocks)); err != nil {
		return up, nil, fmt.Errorf("inventory of a slave: %w", err)
	}
	if inventory.Space == 0 {
		inventory.Space = spaceOf(c.peer.BootID)
	}
	reader.Only(saidBySlaves...)
	again, between, err := newRetelling(reader).read(inventory.Again)
	if err != nil {
		return up, nil, fmt.Errorf("what a slave tells again: %w", err)
	}
	return core.NodeUp{
		Peer:        core.Peer{Key: c.peer.Key, Addr: c.peer.Addr, Arch: c.peer.Arch, BootID: c.peer.BootID},
		Certificate: core.Validity(c.session.Certificate()), Inventory: *inventory, Again: again,
	}, between, nil
}

// spaceOf stands for the identity of a process space where a slave of a version before does not tell it. It is never 0.
func spaceOf(boot string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(boot))
	return max(h.Sum64(), 1)
}

func (c *slaveConn) receive(ctx context.Context, reader *wire.Reader, up core.NodeUp, between []early, views *views) error {
	if err := c.m.state.step(ctx, up); err != nil {
		return err
	}
	if err := c.session.Err(); err != nil {
		return err // the core has refused it
	}
	c.m.state.look(func(core *core.Core) { c.node = core.NodeOf(c.id) })
	c.m.names.stir()
	for _, e := range between {
		if err := c.m.state.step(ctx, core.FromNode{Session: c.id, Number: e.number, Message: e.msg}); err != nil {
			return err
		}
	}
	c.m.memory.Soon() // the openings of many leave much
	views.begin()
	c.m.cuts.watch(c)
	defer c.m.cuts.leave(c)
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reading.Go(func() { c.readHardware(ctx) })
	return c.listen(ctx, reader)
}

// listen takes what a slave says on the control stream, to its end. One that says a lot makes
// others wait for one message of it at a time.
func (c *slaveConn) listen(ctx context.Context, reader *wire.Reader) error {
	length := 0
	reader.Admit(func(bytes int) error { length = bytes; return nil })
	for {
		msg, number, err := reader.Read()
		if err != nil {
			return err
		}
		if err := c.m.state.step(ctx, core.FromNode{Session: c.id, Number: number, Message: msg}); err != nil {
			return err
		}
		if length > largeMessage {
			c.m.memory.Soon()
		}
		if err := c.keepUp(ctx, msg); err != nil {
			return err
		}
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
func (c *slaveConn) open(ctx context.Context, first wire.Message) (stream, error) {
	frame, err := wire.Append(nil, 0, first)
	if err != nil {
		return nil, err
	}
	st, err := c.streams.Open(ctx)
	if err != nil {
		c.endWith(ctx, err)
		return nil, err
	}
	if _, err := st.Write(frame); err != nil {
		st.Close()
		c.endWith(ctx, err)
		return nil, err
	}
	return st, nil
}

// endWith ends a session, unless it is the master that ends.
func (c *slaveConn) endWith(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.link.Close(err)
	}
}
