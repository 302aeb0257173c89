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
	case m.Trust != nil && !validTrust(*m.Trust):
		return unix.EINVAL
	case m.State != nil && !validState(*m.State):
		return unix.EINVAL
	case m.State != nil && *m.State != stateDown && !n.serves() && !n.Down:
		return unix.EHOSTDOWN
	}
	before := *n
	assign(&n.Mode, m.Mode)
	assign(&n.UID, m.UID)
	assign(&n.GID, m.GID)
	assign(&n.Trust, m.Trust)
	if m.State != nil {
		n.Down = *m.State == stateDown
	}
	if before != *n {
		if err := c.nodes.keep(n); err != nil {
			c.log.Error("a change of a node is not kept", "node", n.ID, "err", err)
			*n = before
			return unix.EIO
		}
	}
	if m.State != nil {
		c.setState(n, *m.State, now)
	}
	return 0
}

// setState puts a node into a state that an administrator wants. A node that is
// set down stays connected for so long as it takes to tell its processes' ends, as they were;
// but it is asked for no others, and nothing else of it is served.
func (c *core) setState(n *node, state string, now time.Time) {
	switch {
	case n.serves():
		n.state, n.since = state, now
	case n.state != stateDown:
		n.enter(now)
	}
	if n.sess != nil && state == stateDown {
		n.sess.shut(now.Add(leaseMargin))
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
