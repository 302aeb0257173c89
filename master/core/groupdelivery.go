package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Natively a signal for a group has reached all of it when kill(2) returns. So a remote process
// that sends such a signal must find it delivered to the members on its own node. Ghosts get the
// signal at once, but their processes get it only when the keeper's threads have reported it. So
// before the call is answered, each ghost of the group is asked to report its signals. A process
// can look at other nodes only by way of the front end, and so only behind the signal.

// reached answers a call when its signal has been sent to all processes on the caller's node that
// it has hit.
func (c *Core) reached(k *call) {
	if k.op != wire.CallKill || k.pid(0) > 0 || k.args[1] == 0 {
		c.answer(k, 0, 0)
		return
	}
	var there []wire.PID
	for _, pid := range inOrder(c.onNode[k.s.node]) {
		if pid != k.caller { // the caller's own signals are reported before its call is answered
			there = append(there, pid)
		}
	}
	d := &hearing{k: k, left: 1}
	if k.pid(0) == -1 {
		c.hearAll(d, there)
		return
	}
	c.wonder(Members{Group: -k.pid(0), Of: k.caller, Among: there}, d)
}

// hearing is a call that waits until ghosts have reported their signals.
type hearing struct {
	k    *call
	left int // ghosts that are yet to answer, and one
}

func (h *hearing) told(c *Core, a *Answer) { c.hearAll(h, a.PIDs) }

// hearAll waits for all members that still exist.
func (c *Core) hearAll(h *hearing, members []wire.PID) {
	for _, pid := range members {
		p := c.procs[pid]
		if p == nil || p.sess != h.k.s || !p.ghost || p.state == forking && p.blockers > 0 || p.state == adopting || p.state == ending {
			continue // it has no ghost yet, or none any more
		}
		h.left++
		c.hear(p, h)
	}
	h.heard(c)
}

// heard counts an answer. After the last one it answers the call.
func (h *hearing) heard(c *Core) {
	if h.left--; h.left == 0 {
		c.answer(h.k, 0, 0)
	}
}

// hear waits until the ghost of p has reported all signals that it has got by now. There is one
// request at a time, however many calls wait.
func (c *Core) hear(p *proc, h *hearing) {
	p.toHear = append(p.toHear, h)
	if !p.hearing {
		c.hearNow(p)
	}
}

// hearNow asks the keeper. After any answer, an error too, there is no more to hear.
func (c *Core) hearNow(p *proc) {
	waiting := p.toHear
	p.toHear, p.hearing = nil, true
	c.request(p, &wire.GhostSync{PID: p.pid}, &heard{p, waiting})
}

// heard handles the keeper's answer that a ghost has reported its signals.
type heard struct {
	p       *proc
	waiting []*hearing
}

func (r *heard) answered(c *Core, _ unix.Errno) {
	r.p.hearing = false
	for _, h := range r.waiting {
		h.heard(c)
	}
	if len(r.p.toHear) > 0 && !r.p.hearing {
		c.hearNow(r.p)
	}
}
