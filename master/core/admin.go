package core

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Procs returns the processes that run. It leaves out those that are about to run or to be removed.
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

// maxState is the length of the longest word for a node's state, as in the original BProc.
const maxState = 15

// setNodes changes lines of the node table for a client. All of them are kept together.
func (c *Core) setNodes(in SetNodes) {
	all := &settings{client: in.Client}
	var lines []*node
	seen := map[wire.NodeID]bool{}
	for _, id := range in.Change.Nodes {
		if seen[id] {
			continue
		}
		seen[id] = true
		t, errno, why := c.alter(in.Who, id, &in.Change)
		if errno != 0 {
			all.failed = append(all.failed, wire.NodeFailed{ID: id, Errno: uint32(errno), Text: why})
			continue
		}
		all.list = append(all.list, t)
		if t.before != *t.n {
			lines = append(lines, t.n)
		}
	}
	if len(lines) == 0 {
		all.kept(c, nil)
	} else {
		c.keepNodes(all, lines...)
	}
}

// alter changes a line of the table, which the caller then keeps, or returns why the change is
// refused.
func (c *Core) alter(who Caller, id wire.NodeID, m *wire.SetNodes) (_ setting, errno unix.Errno, why string) {
	n := c.nodes.byID[id]
	if errno, why := c.maySet(who, id, n, m); errno != 0 {
		return setting{}, errno, why
	}
	t := setting{n: n, before: *n}
	if errno, why := n.label(m); errno != 0 {
		return setting{}, errno, why
	}
	if m.State != nil {
		t.state = nodeState(*m.State)
		n.Down = t.state == stateDown
	}
	assign(&n.Mode, m.Mode)
	assign(&n.UID, m.UID)
	assign(&n.GID, m.GID)
	assign(&n.Trust, m.Trust)
	assign(&n.Drain, m.Drain)
	return t, 0, ""
}

// maySet returns why a change of a node is refused; 0: it is allowed.
func (c *Core) maySet(who Caller, id wire.NodeID, n *node, m *wire.SetNodes) (errno unix.Errno, why string) {
	switch {
	case id == wire.FrontEnd:
		return unix.EPERM, "the front end has no owner, mode and state that could be changed"
	case n == nil:
		return unix.ENXIO, ""
	case !who.maySet(n, m):
		return unix.EPERM, "permission denied: only root may change nodes, and the owner of one its mode and group"
	case m.Mode != nil && *m.Mode&^0o111 != 0:
		return unix.EINVAL, fmt.Sprintf("mode %o has other bits than those of execution (111)", *m.Mode)
	case m.Trust != nil && !validTrust(*m.Trust):
		return unix.EINVAL, fmt.Sprintf("trust %q is neither full nor limited", printable(*m.Trust))
	case m.State != nil && !validState(*m.State):
		return unix.EINVAL, fmt.Sprintf("%q is no state: a state is a word of at most %d of a-z, 0-9, - and _", printable(*m.State), maxState)
	}
	if m.State == nil {
		return 0, ""
	}
	if s := *m.State; s == shownDraining || s == shownDrained {
		return unix.EINVAL, s + " is no state that can be set: use bpctl drain"
	}
	return n.mayBecome(nodeState(*m.State))
}

// mayBecome returns why a node cannot be set to a state; 0: it can be.
func (n *node) mayBecome(state nodeState) (errno unix.Errno, why string) {
	_, power := state.asks()
	switch {
	case state == stateDown || n.serves():
		return 0, ""
	case power:
		return unix.EHOSTDOWN, "it is down: nobody is there to " + string(state)
	case !n.Down:
		return unix.EHOSTDOWN, ""
	}
	return 0, ""
}

// setting is a change of a node that has yet to be kept.
type setting struct {
	n      *node
	before node
	state  nodeState // empty: no change
}

// end completes a change that was kept. If keeping failed, it restores the node.
func (t *setting) end(c *Core, err error) (errno unix.Errno) {
	switch {
	case err != nil:
		*t.n = t.before
		return unix.EIO
	case t.state != "":
		c.setState(t.n, t.state)
	}
	return 0
}

// settings are the changes of nodes that one client asked for.
type settings struct {
	client Client
	list   []setting
	failed []wire.NodeFailed
}

func (t *settings) kept(c *Core, err error) {
	if err != nil {
		c.log.Error("changes of nodes are not kept", "count", strconv.Itoa(len(t.list)), "err", err)
	}
	for i := range t.list {
		if errno := t.list[i].end(c, err); errno != 0 {
			t.failed = append(t.failed, wire.NodeFailed{ID: t.list[i].n.ID, Errno: uint32(errno), Text: err.Error()})
		}
	}
	c.emit(Reply{t.client, &wire.NodesSet{Failed: t.failed}})
}

// setState puts a node into a state that an administrator wants. A node that is set down stays
// connected until it has reported how its processes ended, or until LeaseMargin has passed; nothing
// else of it is served.
func (c *Core) setState(n *node, state nodeState) {
	on, power := state.asks()
	switch {
	case power:
		c.powerDown(n, state, on)
	case n.serves() && state == stateBoot:
		c.bringUp(n)
	case n.serves():
		c.become(n, state, "")
	case state != stateDown:
		c.comeBack(n, state)
	case n.state != stateDown:
		c.become(n, stateDown, "")
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
