package master

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Bounds on time: how long a node may take to report its load, and how long a report is used.
const (
	loadAnswer = 2 * time.Second
	loadFresh  = time.Second
)

// sampled is the load that a node has reported.
type sampled struct {
	asking chan struct{} // full while the node is asked: others wait for the same answer
	last   *wire.Sampled
	at     time.Time
}

func newSampled() sampled { return sampled{asking: make(chan struct{}, 1)} }

// load returns the load of a node.
func (c *slaveConn) load(ctx context.Context) (*wire.Sampled, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadAnswer, fmt.Errorf("it does not answer: %w", unix.ETIMEDOUT))
	defer cancel()
	select {
	case c.sampled.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-c.sampled.asking }()
	if c.sampled.last != nil && time.Since(c.sampled.at) < loadFresh {
		return c.sampled.last, nil
	}
	s, err := question[*wire.Sampled](ctx, c, new(wire.Sample))
	if err != nil {
		return nil, err
	}
	c.sampled.last, c.sampled.at = s, time.Now()
	return s, nil
}

// listLoads tells a client the loads of nodes.
func (c *clientConn) listLoads(ctx context.Context, m *wire.ListLoads) error {
	leave, ok := c.enter()
	if !ok {
		return c.failed(wire.StageRequest, unix.EAGAIN, "")
	}
	defer leave()
	nodes, ok := c.nodesOf(m.Nodes)
	if !ok {
		return c.failed(wire.StageRequest, unix.EINVAL, "more nodes are given than there are")
	}
	list := &wire.LoadList{Nodes: make([]wire.NodeLoad, len(nodes))}
	failed := make([]uint32, len(nodes))
	asking, here := c.whileHere(ctx, loadsTime)
	c.askAll(asking, nodes, func(ctx context.Context, s *slaveConn, i int) (err error) {
		list.Nodes[i].Load, err = s.load(ctx)
		return err
	}, failed)
	here()
	for i, id := range nodes {
		list.Nodes[i].ID, list.Nodes[i].Errno = id, failed[i]
	}
	return c.reply(list)
}

// loadsTime bounds the time for all nodes together.
const loadsTime = 8 * time.Second
