package master

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// revoke serves a client that wants the identity of a node forgotten.
func (c *clientConn) revoke(ctx context.Context, m *wire.Revoke) error {
	if c.who.uid != 0 {
		return c.failed(wire.StageRequest, unix.EPERM, "permission denied: only root may revoke nodes")
	}
	var failed *wire.Failed
	if err := c.m.do(ctx, func(core *core) { failed = core.revoke(m.Node, time.Now()) }); err != nil {
		return err
	}
	if failed != nil {
		return c.reply(failed)
	}
	return c.reply(new(wire.Done))
}

// revoke forgets the identity of a node, on disk first: from then on its certificate is worth
// nothing. The node keeps its line in the table, for the machine that is enrolled again.
func (c *core) revoke(id wire.NodeID, now time.Time) *wire.Failed {
	n := c.nodes.byID[id]
	switch {
	case n == nil:
		return &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.ENXIO)}
	case n.Key == "":
		return &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.ENOENT), Text: "it has no identity: it has not joined, or was revoked before"}
	}
	before := *n
	n.Key, n.Trust = "", trustLimited
	if err := c.nodes.keep(n); err != nil {
		c.log.Error("a node cannot be revoked", "node", id, "err", err)
		*n = before
		return &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.EIO), Text: "its identity stays good: " + err.Error()}
	}
	delete(c.nodes.byKey, before.Key)
	c.log.Info("node is revoked", "node", id, "name", n.Name)
	c.putOut(n, errRevoked, now)
	return nil
}

// putOut ends the session and the processes of a node whose identity is not good any more. It
// is not asked about them, nor waited for: its word counts for nothing. A slave that is not
// hostile ends its processes when it is refused, or its lease has run out.
func (c *core) putOut(n *node, cause error, now time.Time) {
	if s := n.sess; s != nil {
		s.link.Close(cause)
		c.sessionEnded(s, cause, now)
	}
	for pid := range c.found {
		if nodeOf(c.foundHow[pid].Owner) == n.ID {
			c.tell(&wire.GhostExit{PID: pid, Status: wire.SignalStatus(int(unix.SIGKILL))})
			c.unfind(pid)
		}
	}
	n.boot = ""
	c.dead(n)
	delete(c.served, n.ID)
}
