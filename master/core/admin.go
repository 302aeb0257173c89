package core

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Procs returns the process table: what runs, without what is about to run or
// to be removed.
func (c *Core) Procs() []wire.Proc {
	procs := make([]wire.Proc, 0, len(c.procs))
	for _, p := range c.procs {
		if p.state == running {
			procs = append(procs, wire.Proc{PID: p.pid, Node: p.node})
		}
	}
	slices.SortFunc(procs, func(a, b wire.Proc) int { return cmp.Compare(a.PID, b.PID) })
	return procs
}

// maxState is the longest word for a node's state, as in the original.
const maxState = 15

// setNode changes a line of the node table for a client.
func (c *Core) setNode(in SetNode) {
	m, n := &in.Change, c.nodes.byID[in.Change.Node]
	if errno := c.maySet(in.Who, n, m); errno != 0 {
		c.emit(Reply{in.Client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(errno)}})
		return
	}
	t := &setting{client: in.Client, n: n, before: *n, state: m.State}
	assign(&n.Mode, m.Mode)
	assign(&n.UID, m.UID)
	assign(&n.GID, m.GID)
	assign(&n.Trust, m.Trust)
	if m.State != nil {
		n.Down = *m.State == stateDown
	}
	if t.before == *n {
		t.kept(c, nil)
	} else {
		c.keepNodes(t, n)
	}
}

// maySet returns why a node cannot be changed so; 0: it can be.
func (c *Core) maySet(who Caller, n *node, m *wire.SetNode) unix.Errno {
	switch {
	case n == nil:
		return unix.ENXIO
	case !who.maySet(n, m):
		return unix.EPERM
	case m.Mode != nil && *m.Mode&^0o111 != 0:
		return unix.EINVAL
	case m.Trust != nil && !validTrust(*m.Trust):
		return unix.EINVAL
	case m.State != nil && !validState(*m.State):
		return unix.EINVAL
	case m.State != nil && *m.State != stateDown && !n.serves() && !n.Down:
		return unix.EHOSTDOWN
	}
	return 0
}

// setting is a change of a node, which is to be kept.
type setting struct {
	client Client
	n      *node
	before node
	state  *string
}

func (t *setting) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("a change of a node is not kept", "node", t.n.ID, "err", err)
		*t.n = t.before
		c.emit(Reply{t.client, &wire.Failed{Stage: wire.StageNode, Errno: uint32(unix.EIO)}})
		return
	}
	if t.state != nil {
		c.setState(t.n, *t.state)
	}
	c.emit(Reply{t.client, new(wire.Done)})
}

// setState puts a node into a state that an administrator wants. A node that is
// set down stays connected for so long as it takes to tell its processes' ends, as they were;
// but it is asked for no others, and nothing else of it is served.
func (c *Core) setState(n *node, state string) {
	switch {
	case n.serves():
		n.state, n.since = state, c.clock
	case n.state != stateDown:
		n.enter(c.clock)
	}
	if n.sess != nil && state == stateDown {
		c.shut(n.sess, c.clock.Add(LeaseMargin))
	}
}

func validState(state string) bool {
	if state == "" || len(state) > maxState {
		return false
	}
	for _, r := range state {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

func assign[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}
