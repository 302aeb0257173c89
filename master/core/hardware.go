package core

import (
	"cmp"
	"time"

	"bproc/wire"
)

// hardware is what the machine of a node is, as its slave has said last. It is known until the
// master ends, also of a node that is down.
type hardware struct {
	what *wire.Hardware // nil: it has not said so
	at   time.Time
}

// HardwareRead says what the machine of a node is.
type HardwareRead struct {
	Session  Session
	Hardware *wire.Hardware // that passes its check
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

// Hardware returns what the machine of a node is, as far as that is known.
func (c *Core) Hardware(id wire.NodeID) wire.NodeHardware {
	h := wire.NodeHardware{ID: id}
	if n := c.nodes.byID[id]; n != nil && n.hardware.what != nil {
		h.At, h.Hardware = n.hardware.at.Unix(), n.hardware.what
	}
	return h
}

// record adds what is known to a line of the node table as clients see it. What could not be found
// out is as it was.
func (h *hardware) record(r *wire.Node) {
	if h.what == nil {
		return
	}
	r.Kernel, r.CPUs, r.Memory = cmp.Or(r.Kernel, h.what.Kernel), cmp.Or(h.what.CPUs, r.CPUs), cmp.Or(h.what.Memory, r.Memory)
	r.Sockets, r.Cores, r.GPUs = h.what.Sockets, h.what.Cores, uint32(len(h.what.GPUs))
}
