package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A signal for a group has natively come to all of it when kill(2) returns, so a
// remote process that sends one finds it at those of its own node. Ghosts get it at
// once, but their processes only when the keeper's threads have reported it. So
// before the call is answered, each ghost of the group is asked for what it has
// got. Elsewhere a process can look only by way of the front end, and comes behind
// the signal there.

// reached answers a call when those whom a signal has hit by it, and who are on the
// caller's node, have been sent it.
func (c *Core) reached(k *call) {
	if k.op != wire.CallKill || k.pid(0) > 0 || k.args[1] == 0 {
		c.answer(k, 0, 0)
		return
	}
	var there []wire.PID
	for _, pid := range inOrder(c.onNode[k.s.node]) {
		if pid != k.caller { // whose own are reported before its call is answered
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

// hearing is a call whose signals are to be heard of.
type hearing struct {
	k    *call
	left int // ghosts that are yet to be asked, and one
}

func (h *hearing) told(c *Core, a *Answer) { c.hearAll(h, a.PIDs) }

// hearAll goes on when all members have been heard that are still there.
func (c *Core) hearAll(h *hearing, members []wire.PID) {
	for _, pid := range members {
		p := c.procs[pid]
		if p == nil || p.sess != h.k.s || !p.ghost || p.state == forking && p.blockers > 0 || p.state == adopting || p.state == ending {
			continue // it has no ghost yet or no more
		}
		h.left++
		c.hear(p, h)
	}
	h.heard(c)
}

// heard answers the call when all have been heard.
func (h *hearing) heard(c *Core) {
	if h.left--; h.left == 0 {
		c.answer(h.k, 0, 0)
	}
}

// hear goes on when all signals that the ghost of p has got by now have been
// reported. However many want to know, there is one request at a time.
func (c *Core) hear(p *proc, h *hearing) {
	p.toHear = append(p.toHear, h)
	if !p.hearing {
		c.hearNow(p)
	}
}

// hearNow asks the keeper. Whatever the answer, there is no more to hear.
func (c *Core) hearNow(p *proc) {
	waiting := p.toHear
	p.toHear, p.hearing = nil, true
	c.request(p, &wire.GhostSync{PID: p.pid}, &heard{p, waiting})
}

// heard is what the keeper says when a ghost has reported its signals.
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
