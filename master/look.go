package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// viewers counts the connections of each user that look at processes of nodes.
type viewers struct {
	mu    sync.Mutex
	count map[uint32]int
}

// maxLooks bounds the connections by which one user looks at the same time, because they hinder
// others on the nodes. Root's view, which serves everybody, has one for each node and is not
// bounded.
const maxLooks = 16

// enter counts one more connection. The caller calls leave when it has ended.
func (v *viewers) enter(uid uint32) (leave func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if uid != 0 && v.count[uid] >= maxLooks {
		return nil, false
	}
	if v.count == nil {
		v.count = map[uint32]int{}
	}
	v.count[uid]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.count[uid]--; v.count[uid] == 0 {
			delete(v.count, uid)
		}
	}, true
}

// Bounds on time: for a node to answer a look-up, and for a client to read.
const (
	inspectTime = 30 * time.Second
	slowClient  = 10 * time.Second
)

// looked is a stream to a node for a client that looks at its processes.
type looked struct {
	*clientConn
	node   wire.NodeID
	sess   *slaveConn
	stream stream
	asked  atomic.Int32 // refreshes without an answer

	release func() // what the present answer takes
}

// maxAsked bounds the refreshes of a client that wait for an answer, so that the master does not
// keep what a node does not read. The protocol allows one.
const maxAsked = 16

// lookAt opens a stream to a node for a client, beginning with first. It returns nil if it cannot,
// after it has told the client.
func (c *clientConn) lookAt(ctx context.Context, node wire.NodeID, pid wire.PID, first wire.Message) (*looked, error) {
	l := &looked{clientConn: c, node: node, release: func() {}}
	if node == wire.FrontEnd {
		l.stream = c.m.here.open(first)
		return l, nil
	}
	var errno unix.Errno
	if l.sess, errno = c.m.state.sessionFor(node, pid); errno == 0 && l.sess == nil {
		errno = unix.EHOSTDOWN
	}
	if errno != 0 {
		return nil, c.failed(wire.StageNode, errno, "")
	}
	frame, err := wire.Append(nil, 0, first)
	if err != nil {
		return nil, err
	}
	if l.stream, err = l.sess.streams.Open(ctx); err != nil {
		return nil, errors.Join(err, c.failed(wire.StageNode, unix.EHOSTDOWN, ""))
	}
	if _, err := l.stream.Write(frame); err != nil {
		l.stream.Close()
		return nil, errors.Join(err, c.failed(wire.StageNode, unix.EHOSTDOWN, ""))
	}
	return l, nil
}

// look shows a client the processes of a node, until it leaves.
func (c *clientConn) look(ctx context.Context, m *wire.Look) error {
	leave, ok := c.enter()
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	l, err := c.lookAt(ctx, m.Node, 0, &wire.Show{Environ: c.who.UID == 0 && c.from == nil, UID: c.who.UID, From: c.here()})
	if l == nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error {
		defer cancel() // answers may wait for births that never come
		defer l.stream.Close()
		return l.refreshes()
	})
	group.Go(func() error {
		defer c.conn.Close()
		return l.answers(ctx, func(wire.Message) bool { return false })
	})
	return group.Wait()
}

// refreshes passes on the client's requests.
func (l *looked) refreshes() error {
	reader := wire.NewReader(l.conn)
	reader.Admit(atMost(smallLoad))
	for {
		m, number, err := reader.Read()
		if err != nil {
			return ended(err)
		}
		if _, ok := m.(*wire.Refresh); !ok {
			return fmt.Errorf("%w: type %d of a client that looks", wire.ErrFrame, m.Type())
		}
		if l.asked.Add(1) > maxAsked {
			return fmt.Errorf("%w: more than %d refreshes at a time", wire.ErrFrame, maxAsked)
		}
		if err := wire.Write(l.stream, number, m); err != nil {
			return err
		}
	}
}

// inspect looks something up in procfs of a node for a client.
func (c *clientConn) inspect(ctx context.Context, m *wire.Inspect) error {
	leave, ok := c.enter()
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	who, err := c.asks(ctx, m)
	if err != nil {
		return err
	}
	l, err := c.lookAt(ctx, m.Node, m.PID, &wire.Fetch{
		PID: m.PID, Start: m.Start, Kind: m.Kind, Path: m.Path,
		UID: who.UID, GID: who.GID, Groups: who.Groups,
	})
	if l == nil {
		return err
	}
	defer l.stream.Close()
	// The look-up ends when the client leaves or sends more.
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { l.stream.Close(); c.conn.Close() })
	defer stop()
	group.Go(func() error {
		_, err := c.conn.Read(make([]byte, 1))
		return cmp.Or(err, core.ErrUnexpected) // either ends the group
	})
	group.Go(func() error {
		defer c.conn.Close()
		return l.answers(ctx, func(m wire.Message) bool { p, ok := m.(*wire.Piece); return ok && p.Last })
	})
	return group.Wait()
}

// answers passes on the node's messages, up to the last, each when everything that it may speak of
// is on the front end.
func (l *looked) answers(ctx context.Context, last func(wire.Message) bool) error {
	reader := wire.NewReader(l.stream)
	reader.Only(wire.TypeShown, wire.TypeChanged, wire.TypeRefreshed, wire.TypePiece)
	reader.Admit(func(bytes int) error { return l.admitAnswer(ctx, bytes) })
	defer func() { l.release() }()
	var frame []byte
	for {
		h, payload, err := reader.Next()
		if err != nil {
			return ended(err)
		}
		m, err := wire.Decode(h, payload)
		if err := errors.Join(err, l.came()); err != nil {
			return err
		}
		if m.Type() == wire.TypeRefreshed {
			l.asked.Add(-1)
		}
		all, err := l.checked(ctx, m)
		if err != nil {
			return err
		}
		if all { // unchanged: encoding a long message takes as long as reading it
			frame = wire.AppendData(frame[:0], h.Type, h.Number, payload)
		} else if frame, err = wire.Append(frame[:0], h.Number, m); err != nil {
			return err
		}
		if err := l.conn.SetWriteDeadline(time.Now().Add(slowClient)); err != nil {
			return err
		}
		if _, err := l.conn.Write(frame); err != nil || last(m) {
			return err
		}
		l.release()
		l.release = func() {}
	}
}

// admitAnswer waits until there is room for an answer to a client on a node, which can have many
// looks: all of them together have the room of one user.
func (l *looked) admitAnswer(ctx context.Context, bytes int) (err error) {
	if l.from == nil || bytes <= smallLoad {
		return nil
	}
	if l.release, err = l.m.answers.take(ctx, l.payer(), bytes); err != nil {
		return err
	}
	return l.stream.SetReadDeadline(time.Now().Add(firstFrame))
}

// came is called when an answer has come as a whole: the next one is waited for without a limit.
func (l *looked) came() error {
	if l.from == nil {
		return nil
	}
	return l.stream.SetReadDeadline(time.Time{})
}

// await waits for the births before an answer. Those that a node tells, and does not tell of, do not
// keep an answer to another for ever.
func (l *looked) await(ctx context.Context, event uint64) error {
	if l.from != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, placeTime, errBehind)
		defer cancel()
	}
	return l.sess.barrier.Wait(ctx, event)
}

// errBehind is why an answer is not passed on to a node.
var errBehind = fmt.Errorf("the front end has not caught up with a node within %v", placeTime)

// checked waits for the births before a message, and removes what is not the node's to tell. all
// reports whether nothing was removed.
func (l *looked) checked(ctx context.Context, m wire.Message) (all bool, err error) {
	changed, ok := m.(*wire.Changed)
	if !ok {
		return true, l.checkedOther(ctx, m)
	}
	procs, ended := len(changed.Procs), len(changed.Ended)
	if l.node == wire.FrontEnd {
		l.m.state.look(func(core *core.Core) { core.OfFrontEnd(changed) })
	} else if err = l.await(ctx, changed.Event); err == nil {
		l.m.state.look(func(core *core.Core) { core.OfNode(l.node, changed) })
	}
	return len(changed.Procs) == procs && len(changed.Ended) == ended, err
}

// checkedOther waits for the births before a message that is not Changed.
func (l *looked) checkedOther(ctx context.Context, m wire.Message) error {
	if l.node == wire.FrontEnd {
		return nil
	}
	switch m := m.(type) {
	case *wire.Piece:
		return l.await(ctx, m.Event)
	case *wire.Shown, *wire.Refreshed:
		return nil
	}
	return fmt.Errorf("%w: type %d to a client that looks", wire.ErrFrame, m.Type())
}
