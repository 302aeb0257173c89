package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// Bounds on reading the machines of nodes: the time for one node, the nodes that are asked at the
// same time after they have come up, and those for a client; and the nodes in one message to a
// client.
const (
	hardwareTime   = 30 * time.Second
	maxReading     = 8
	maxAsking      = 64
	hardwareInList = 16
)

// readHardware asks a node that has come up for its machine. Nothing depends on the answer: a slave
// that does not answer is served all the same.
func (c *slaveConn) readHardware(ctx context.Context) {
	select {
	case c.m.reading <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-c.m.reading }()
	if err := c.askHardware(ctx, false); err != nil && ctx.Err() == nil {
		c.m.log.Warn("a node did not say what its machine is", "node", c.node, "err", err)
	}
}

// askHardware asks a node for its machine, and gives the core the answer.
func (c *slaveConn) askHardware(ctx context.Context, fresh bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, hardwareTime, fmt.Errorf("it does not answer: %w", unix.ETIMEDOUT))
	defer cancel()
	h, err := question[*wire.Hardware](ctx, c, &wire.ReadHardware{Fresh: fresh})
	if err == nil {
		err = h.Check()
	}
	if err != nil {
		return err
	}
	return c.m.state.step(ctx, core.HardwareRead{Session: c.id, Hardware: h})
}

// question asks a slave a question over a stream of its own.
func question[T wire.Message](ctx context.Context, c *slaveConn, q wire.Message) (answer T, err error) {
	st, err := c.streams.Open(ctx)
	if err != nil {
		return answer, err
	}
	defer st.Close()
	stop := context.AfterFunc(ctx, func() { st.Close() })
	defer stop()
	if err := wire.Write(st, 0, q); err != nil {
		return answer, err
	}
	reader := wire.NewReader(st)
	reader.Admit(atMost(maxAnswer))
	m, _, err := reader.Read()
	if ctx.Err() != nil {
		return answer, context.Cause(ctx)
	}
	if err != nil {
		return answer, err
	}
	answer, ok := m.(T)
	if !ok {
		return answer, fmt.Errorf("%w: type %d", core.ErrUnexpected, m.Type())
	}
	return answer, nil
}

// atMost admits frames of up to so many bytes.
func atMost(most int) func(int) error {
	return func(bytes int) error {
		if bytes > most {
			return fmt.Errorf("%w: %d bytes, of %d at most", wire.ErrFrame, bytes, most)
		}
		return nil
	}
}

// maxAnswer bounds the answer of a slave to a question, in bytes.
const maxAnswer = 64 << 10

// listHardware tells a client the machines of nodes.
func (c *clientConn) listHardware(ctx context.Context, m *wire.ListHardware) error {
	leave, ok := c.enter()
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	nodes, ok := c.nodesOf(m.Nodes)
	if !ok {
		return c.failed(wire.StageRequest, unix.EINVAL, "more nodes are given than there are")
	}
	failed := make([]uint32, len(nodes))
	if m.Fresh {
		asking, here := c.whileHere(ctx, hardwareTime)
		c.askAll(asking, nodes, func(ctx context.Context, s *slaveConn, i int) error { return s.askHardware(ctx, true) }, failed)
		here()
	}
	for first := 0; ; first += hardwareInList {
		part := nodes[first:min(first+hardwareInList, len(nodes))]
		list := &wire.HardwareList{Last: first+hardwareInList >= len(nodes)}
		c.m.state.look(func(core *core.Core) {
			for i, id := range part {
				h := core.Hardware(id)
				h.Errno = failed[first+i]
				list.Nodes = append(list.Nodes, h)
			}
		})
		if err := c.reply(list); err != nil || list.Last {
			return err
		}
	}
}

// nodesOf returns the nodes that a client has given, or all if it has given none.
func (c *clientConn) nodesOf(given []wire.NodeID) (nodes []wire.NodeID, ok bool) {
	table := c.m.nodeTable()
	if len(given) > 0 {
		return given, len(given) <= len(table)
	}
	for i := range table {
		nodes = append(nodes, table[i].ID)
	}
	return nodes, true
}

// askAll asks nodes, several at a time, and notes errors in failed.
func (c *clientConn) askAll(ctx context.Context, nodes []wire.NodeID, ask func(context.Context, *slaveConn, int) error, failed []uint32) {
	var group errgroup.Group
	group.SetLimit(maxAsking)
	for i, id := range nodes {
		s, errno := c.m.state.sessionFor(id, 0)
		if errno == 0 && s == nil {
			errno = unix.EHOSTDOWN
		}
		if failed[i] = uint32(errno); errno != 0 {
			continue
		}
		group.Go(func() error {
			if err := ask(ctx, s, i); err != nil {
				failed[i] = uint32(errnoOf(err))
			}
			return nil
		})
	}
	_ = group.Wait() // errors are in failed
}

// errnoOf returns why a node has not answered.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, context.DeadlineExceeded): // the time for all of them is over
		return unix.ETIMEDOUT
	}
	return unix.EIO
}
