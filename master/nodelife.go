package master

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"bproc/internal/hosts"
	"bproc/master/core"
	"bproc/master/nodeup"
	"bproc/wire"
)

// newRunner returns the runner of set-up scripts, which tells the core how they end.
func (m *Master) newRunner() *nodeup.Runner {
	return nodeup.New(m.cfg.scripts(), m.log, func(ctx context.Context, r nodeup.Result) {
		_ = m.state.step(ctx, core.SetUpDone(r)) // or the master ends
	})
}

// scripts returns the part of the configuration about scripts.
func (c Config) scripts() nodeup.Config {
	return nodeup.Config{
		Script: c.SetUp, Optional: c.SetUp == DefaultSetUp, Deadline: c.SetUpTime, Parallel: c.SetUps, Logs: c.Logs, PowerOn: c.PowerOn,
		Environ: []string{"BPROC_SOCKET=" + c.Socket},
	}
}

// setUp has a node set up. If there is nothing to be done, it returns the input that follows at
// once.
func (m *Master) setUp(o core.SetUp) core.Input {
	o.Addr = hosts.Address(o.Addr)
	if m.nodes.SetUp(nodeup.Job(o)) {
		return nil
	}
	return core.SetUpDone{Node: o.Node, Attempt: o.Attempt}
}

func (c *clientConn) powerOn(ctx context.Context, m *wire.PowerOn) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may switch nodes on")
	}
	var name, why string
	var errno unix.Errno
	c.m.state.look(func(core *core.Core) { name, errno, why = core.MayPowerOn(m.Node) })
	if errno != 0 {
		return c.failed(wire.StageNode, errno, why)
	}
	if err := c.m.nodes.PowerOn(ctx, m.Node, name); err != nil {
		return c.failed(wire.StageNode, unix.EIO, fmt.Sprintf("it is not switched on: %v", err))
	}
	return c.reply(new(wire.Done))
}

// readLog gives a client the log of a node, for as long as the client wants it.
func (c *clientConn) readLog(ctx context.Context, m *wire.ReadLog) error {
	if c.who.UID != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may read the logs of nodes")
	}
	known := false
	c.m.state.look(func(core *core.Core) { known = core.Knows(m.Node) })
	if !known {
		return c.failed(wire.StageNode, unix.ENXIO, "")
	}
	ctx, here := c.untilLeft(ctx)
	defer here()
	err := c.m.nodes.ReadLog(ctx, m.Node, m.Follow, func(text []byte) error { return c.reply(&wire.LogText{Text: text}) })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, unix.EPIPE):
		return err
	case err != nil:
		return c.failed(wire.StageNode, unix.EIO, err.Error())
	}
	return c.reply(new(wire.Done))
}
