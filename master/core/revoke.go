package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// revoke forgets the identity of a node, on disk first: from then on its certificate is worthless.
// The node keeps its line in the table, for the machine that is enrolled again.
func (c *Core) revoke(in Revoke) {
	n := c.nodes.byID[in.Node]
	switch {
	case n == nil:
		c.emit(Reply{in.Client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.ENXIO)}})
		return
	case n.Key == "":
		c.emit(Reply{in.Client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.ENOENT), Text: "it has no identity: it has not joined, or was revoked before"}})
		return
	}
	t := &revoking{client: in.Client, n: n, before: *n}
	n.Key, n.Trust = "", trustLimited
	c.keepNodes(t, n)
}

// revoking is a node without its identity, which is being kept.
type revoking struct {
	client Client
	n      *node
	before node
}

func (t *revoking) kept(c *Core, err error) {
	n := t.n
	if err != nil {
		c.log.Error("a node cannot be revoked", "node", n.ID, "err", err)
		*n = t.before
		c.emit(Reply{t.client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.EIO), Text: "its identity stays good: " + err.Error()}})
		return
	}
	delete(c.nodes.byKey, t.before.Key)
	c.log.Info("node is revoked", "node", n.ID, "name", n.Name)
	c.putOut(n, ErrRevoked)
	c.emit(Reply{t.client, new(wire.Done)})
}

// putOut ends the session and the processes of a node whose identity is no longer good. The master
// neither asks the node about them nor waits for it: its word counts for nothing. An honest slave
// ends its processes when it is refused, or when its lease has run out.
func (c *Core) putOut(n *node, cause error) {
	if n.sess != nil {
		c.endNow(n.sess, cause)
	}
	for _, pid := range inOrder(c.orphans) {
		if o := c.orphans[pid]; o != nil && nodeOf(o.Adopted.Owner) == n.ID {
			c.loseOrphan(o.Held)
		}
	}
	c.orphansClaimed()
	n.boot, n.Settled = "", settled{}
	c.dead(n)
	delete(c.served, n.ID)
}
