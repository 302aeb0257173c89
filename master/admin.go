package master

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// list returns the process table: what runs, without what is about to run or
// to be removed.
func (c *core) list() []wire.Proc {
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
func (c *core) setNode(who caller, m *wire.SetNode, now time.Time) unix.Errno {
	n := c.nodes.byID[m.Node]
	switch {
	case n == nil:
		return unix.ENXIO
	case !who.maySet(n, m):
		return unix.EPERM
	case m.Mode != nil && *m.Mode&^0o111 != 0:
		return unix.EINVAL
	case m.State != nil && !validState(*m.State):
		return unix.EINVAL
	case m.State != nil && n.sess == nil && *m.State != stateDown:
		return unix.EHOSTDOWN
	}
	before := *n
	assign(&n.Mode, m.Mode)
	assign(&n.UID, m.UID)
	assign(&n.GID, m.GID)
	if before.Mode != n.Mode || before.UID != n.UID || before.GID != n.GID {
		if err := c.nodes.save(); err != nil {
			c.log.Error("a change of a node is not kept", "node", n.ID, "err", err)
			n.Mode, n.UID, n.GID = before.Mode, before.UID, before.GID
			return unix.EIO
		}
	}
	if m.State != nil {
		c.setState(n, *m.State, now)
	}
	return 0
}

func (c *core) setState(n *node, state string, now time.Time) {
	if state != stateDown {
		n.state, n.since = state, now
		return
	}
	if s := n.sess; s != nil {
		s.put(new(wire.KillAll))
		s.link.Close(errSetDown)
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
