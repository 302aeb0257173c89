package core

import (
	"cmp"
	"time"

	"bproc/wire"
)

// hardware is the machine of a node, as its slave last described it. It is known until the master
// ends, even while the node is down.
type hardware struct {
	what *wire.Hardware // nil: the slave has not described it
	at   time.Time
}

// HardwareRead reports the machine of a node.
type HardwareRead struct {
	Session  Session
	Hardware *wire.Hardware // has passed its check
}

func (in HardwareRead) apply(c *Core) {
	s := c.sessions[in.Session]
	if s == nil {
		return
	}
	if n := c.nodes.byID[s.node]; n != nil && n.sess == s {
		n.hardware = hardware{in.Hardware, c.clock}
	}
}

// Hardware returns the machine of a node, as far as it is known.
func (c *Core) Hardware(id wire.NodeID) wire.NodeHardware {
	h := wire.NodeHardware{ID: id}
	if n := c.nodes.byID[id]; n != nil && n.hardware.what != nil {
		h.At, h.Hardware = n.hardware.at.Unix(), n.hardware.what
	}
	return h
}

// record adds what is known to a line of the node table as clients see it. A value that could not
// be found out stays as it was.
func (h *hardware) record(r *wire.Node) {
	if h.what == nil {
		return
	}
	r.Kernel, r.CPUs, r.Memory = cmp.Or(r.Kernel, h.what.Kernel), cmp.Or(h.what.CPUs, r.CPUs), cmp.Or(h.what.Memory, r.Memory)
	r.Sockets, r.Cores, r.GPUs = h.what.Sockets, h.what.Cores, uint32(len(h.what.GPUs))
}
