package sim

import (
	"slices"

	"bproc/master/core"
	"bproc/wire"
)

// link is a session in the state of both ends.
type link struct {
	id        core.Session
	node      *node
	begun     bool // the inventory was sent
	known     bool // the master's core knows it
	served    bool // the slave has got a message of the master's core
	inventory wire.Inventory
	events    []wire.Event // sent in it, by number
	down      []core.ToNode
	up        []said
	spawns    []request
	placed    uint64 // event up to which everything is in place
	nestings  []nesting
	closed    bool // by the master
	broken    bool // nothing passes after an event any more
	isCut     bool
}

// said is a message of a node, with its number.
type said struct {
	number  uint64
	message wire.Message // an inventory also stands for the events that are told again
}

// request is a client's request for a process, made in a session.
type request struct {
	client    *client
	session   core.Session
	taskGroup uint64 // control group, with the number of tasks that it may have
	tasks     uint64
	pgid, sid wire.PID // of the ghost; of a nested launch
}

// deliver delivers a message.
func (s *Sim) deliver() {
	n := pick(s.rng, s.nodes)
	l := n.link
	switch {
	case l == nil:
	case l.closed:
		n.loseSession("")
	case l.isCut:
	default:
		l.deliver(s.rng.IntN(4))
	}
}

func (l *link) deliver(which int) {
	switch {
	case which == 0 && len(l.down) > 0:
		o := l.down[0]
		l.down = l.down[1:]
		l.node.slave.hears(o)
	case which == 1 && len(l.up) > 0:
		m := l.up[0]
		l.up = l.up[1:]
		if !l.known {
			l.isUp()
			return
		}
		l.node.sim.step(core.FromNode{Session: l.id, Number: m.number, Message: m.message})
	case which == 2 && len(l.spawns) > 0 && !l.signals(l.spawns[0].client.ghost):
		r := l.spawns[0]
		l.spawns = l.spawns[1:]
		l.node.slave.launches(r)
	case which == 3:
		l.nest()
	}
}

// signals reports whether a signal for an earlier process with a number is in transit, which the
// next one must not overtake: in reality a number is not reused that soon.
func (l *link) signals(pid wire.PID) bool {
	return slices.ContainsFunc(l.down, func(o core.ToNode) bool {
		m, is := o.Message.(*wire.Signal)
		return is && m.PID == pid
	})
}

// connect begins a session. The master's core learns of it with the inventory and the events that
// are told again, and never of one that ends before.
func (n *node) connect() {
	if !n.isAdmitted() {
		return
	}
	n.sim.sessions++
	l := &link{id: n.sim.sessions, node: n}
	n.link, n.linked = l, n.sim.now
	n.sim.links[l.id] = l
	n.slave.connect()
	n.sim.note("node %d connects: %v, %d events again", n.id, l.inventory.PIDs, len(l.events))
	if uint64(len(l.events)) != l.inventory.Again {
		n.sim.fail("node %d tells %d events again, not %d", n.id, len(l.events), l.inventory.Again)
	}
	l.begun = true
	l.up = append([]said{{message: &l.inventory}}, l.up...)
}

// isAdmitted reports whether a node may connect. A node whose identity is invalid ends its
// processes, and joins again.
func (n *node) isAdmitted() bool {
	switch n.sim.core.Admit(n.key()) {
	case core.Admitted:
		if n.certificate.Until.Before(n.sim.now) {
			n.certificate = core.Validity{From: n.sim.now, Until: n.sim.now.Add(certificate)}
		}
		return true
	case core.Unknown:
		if n.revoked && (n.sim.quiet || n.sim.chance(4)) {
			n.sim.joinsAnew(n)
		}
	case core.SetDown:
	}
	return false
}

// isUp handles the arrival of the inventory.
func (l *link) isUp() {
	l.known = true
	n, again := l.node, l.events[:l.inventory.Again]
	n.sim.note("node %d is up", n.id)
	inventory := l.inventory
	if !n.sim.quiet && !n.sim.peaceful && n.sim.chance(20) {
		inventory = n.claimsOthers(inventory)
	}
	n.sim.step(core.NodeUp{
		Session: l.id, Peer: core.Peer{Key: n.key(), BootID: n.bootID()}, Certificate: n.certificate, Inventory: inventory, Again: append([]wire.Event(nil), again...),
	})
}

// loseSession ends the session.
func (n *node) loseSession(kind string) {
	l := n.link
	if l == nil {
		return
	}
	if kind != "" {
		n.sim.fault(kind, n.id)
	}
	n.drop()
	delete(n.sim.links, l.id)
	n.sim.loseNested(l)
	if l.known {
		n.sim.step(core.NodeLost{Session: l.id, Cause: core.ErrUnexpected})
	}
}

// drop forgets the session on the node's side. Requests that were read before arrive late.
func (n *node) drop() {
	l := n.link
	if l == nil {
		return
	}
	n.link = nil
	if n.slave != nil {
		n.slave.lost()
		if n.sim.chance(2) {
			n.slave.late = append(n.slave.late, l.spawns...)
		}
	}
}

func (n *node) cut() {
	if l := n.link; l != nil && !l.isCut {
		n.sim.fault("cut", n.id)
		l.isCut = true
		if l.known {
			n.sim.step(core.NodeCut{Session: l.id})
		}
	}
}

func (n *node) heal() {
	if l := n.link; l != nil && l.isCut && !l.closed {
		l.isCut = false
		if l.known {
			n.sim.step(core.NodeHealed{Session: l.id, Certificate: n.certificate})
		}
	}
}
