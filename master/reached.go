package master

import (
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A signal for a group has natively come to all of it when kill(2) returns, so a
// remote process that sends one finds it at those of its own node. Ghosts get it at
// once, but their processes only when the keeper's threads have reported it. So
// before the call is answered, each ghost of the group is asked for what it has
// got. Elsewhere a process can look only by way of the front end, and comes behind
// the signal there.

// reached calls done when those whom a signal has hit by k, and who are on the
// caller's node, have been sent it.
func (c *core) reached(k *call, done func()) {
	if k.op != wire.CallKill || k.pid(0) > 0 || k.args[1] == 0 {
		done()
		return
	}
	group := -k.pid(0)
	if group == 0 {
		group, _ = c.front.Group(k.caller)
	}
	var there []wire.PID
	for pid := range c.onNode[k.s.node] {
		if pid != k.caller { // whose own are reported before its call is answered
			there = append(there, pid)
		}
	}
	c.slowly(func() func() {
		slices.Sort(there)
		members := there
		if group != 1 { // of kill(-1)
			members = members[:0]
			for _, pid := range there {
				if g, err := c.front.Group(pid); err == nil && g == group {
					members = append(members, pid)
				}
			}
		}
		return func() { c.hearAll(k.s, members, done) }
	})
}

// hearAll calls done when all members have been heard that are still there.
func (c *core) hearAll(s *session, members []wire.PID, done func()) {
	left := 1
	heard := func() {
		if left--; left == 0 {
			done()
		}
	}
	for _, pid := range members {
		p := c.procs[pid]
		if p == nil || p.sess != s || !p.ghost || p.state == forking && p.gates > 0 || p.state == adopting || p.state == ending {
			continue // it has no ghost yet or no more
		}
		left++
		c.hear(p, heard)
	}
	heard()
}

// hear calls done when all signals that the ghost of p has got by now have been
// reported. However many want to know, there is one request at a time.
func (c *core) hear(p *proc, done func()) {
	p.toHear = append(p.toHear, done)
	if !p.hearing {
		c.hearNow(p)
	}
}

// hearNow asks the keeper. Whatever the answer, there is no more to hear.
func (c *core) hearNow(p *proc) {
	waiting := p.toHear
	p.toHear, p.hearing = nil, true
	c.request(p, &wire.GhostSync{PID: p.pid}, func(unix.Errno) {
		p.hearing = false
		for _, done := range waiting {
			done()
		}
		if len(p.toHear) > 0 && !p.hearing {
			c.hearNow(p)
		}
	})
}
