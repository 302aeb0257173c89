package core

import (
	"slices"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// These methods show the state of the core, and change nothing.

// NodeList returns the node table.
func (c *Core) NodeList() []wire.Node {
	unclaimed := map[wire.NodeID]uint32{} // processes of nodes that have not come to this master yet
	for _, o := range c.orphans {
		unclaimed[nodeOf(o.Adopted.Owner)]++
	}
	var all []wire.Node
	for _, n := range c.nodes.sorted() {
		r := n.record()
		r.Procs += unclaimed[n.ID]
		all = append(all, r)
	}
	return all
}

// NodeCount returns the number of nodes in the table.
func (c *Core) NodeCount() int { return len(c.nodes.byID) }

// Knows reports whether there is a node with this number.
func (c *Core) Knows(id wire.NodeID) bool { return c.nodes.byID[id] != nil }

// Admission is the decision about a slave that wants to connect.
type Admission uint8

// Admissions.
const (
	Admitted Admission = iota
	Unknown            // its identity is not in the node table
	SetDown            // its node is set down
)

// Admit decides whether an identity may connect.
func (c *Core) Admit(key string) Admission {
	switch n := c.nodes.byKey[key]; {
	case n == nil:
		return Unknown
	case n.Down:
		return SetDown
	}
	return Admitted
}

// Size returns how many processes are in the table, whatever their state.
func (c *Core) Size() int { return len(c.procs) }

// Numbers returns how process numbers are used.
func (c *Core) Numbers() pidmap.Usage { return c.alloc.Usage() }

// Ghosts returns all ghosts, also those that no node has claimed yet.
func (c *Core) Ghosts() map[wire.PID]bool {
	all := make(map[wire.PID]bool, len(c.procs)+len(c.orphans))
	for pid := range c.procs {
		all[pid] = true
	}
	for pid := range c.orphans {
		all[pid] = true
	}
	return all
}

// SessionFor returns the session with a node, for a look at a process of it, or at the node itself
// (0).
func (c *Core) SessionFor(node wire.NodeID, pid wire.PID) (Session, unix.Errno) {
	n := c.nodes.byID[node]
	switch {
	case n == nil:
		return 0, unix.ENXIO
	case n.sess == nil || n.sess.ended:
		return 0, unix.EHOSTDOWN
	case pid != 0 && !c.isOn(pid, node):
		return 0, unix.ESRCH
	}
	return n.sess.id, 0
}

// isOn reports whether a number is that of a process of a node.
func (c *Core) isOn(pid wire.PID, node wire.NodeID) bool {
	p := c.procs[pid]
	return p != nil && p.node == node
}

// OfNode removes from a node's report the processes that are not its own.
func (c *Core) OfNode(node wire.NodeID, m *wire.Changed) {
	m.Procs = slices.DeleteFunc(m.Procs, func(t wire.Texts) bool { return !c.isOn(t.PID, node) })
	m.Ended = slices.DeleteFunc(m.Ended, func(pid wire.PID) bool { return c.procs[pid] != nil && !c.isOn(pid, node) })
}

// OfFrontEnd removes from the front end's report the processes that are on a node.
func (c *Core) OfFrontEnd(m *wire.Changed) {
	m.Procs = slices.DeleteFunc(m.Procs, func(t wire.Texts) bool { return c.procs[t.PID] != nil })
}

// StartedBy reports whether a user has started a process of a node, or its ancestor.
func (c *Core) StartedBy(node wire.NodeID, uid uint32) bool {
	for _, p := range c.onNode[node] {
		if p.starter == uid && p.state != adopting {
			return true
		}
	}
	return false
}

// Stands reports whether a node's ghosts may run as this user in place of another: the node has limited trust, and
// the user is the one to whom others are squashed.
func (c *Core) Stands(node wire.NodeID, uid uint32) bool {
	return c.isLimited(node) && uid == c.config.Squash
}

// NodeOf returns the node of a session; -1: it has none, or no longer.
func (c *Core) NodeOf(id Session) wire.NodeID {
	if s := c.sessions[id]; s != nil && c.nodes.byKey[s.peer.Key] != nil {
		return s.node
	}
	return -1
}

// NodeOfProcess returns the node on which a process is, and whether it is on one.
func (c *Core) NodeOfProcess(pid wire.PID) (wire.NodeID, bool) {
	p := c.procs[pid]
	if p == nil {
		return 0, false
	}
	return p.node, true
}

// NodeWith returns the node that has an identity, -1 if none has.
func (c *Core) NodeWith(key string) wire.NodeID {
	if n := c.nodes.byKey[key]; n != nil {
		return n.ID
	}
	return -1
}

// IsSettled reports whether all nodes of a former master are here or given up.
func (c *Core) IsSettled() bool { return c.settled }

// IsDown reports whether a session's node is set down, so that nobody there may look.
func (c *Core) IsDown(id Session) bool {
	s := c.sessions[id]
	return s == nil || !s.shutBy.IsZero()
}
