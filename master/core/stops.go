package core

import (
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// A ghost stops and continues as its process does; the keeper is asked for that. While no keeper
// holds the ghost, its own signals stop and continue it, as any process. The state that the next
// keeper finds is compared with the known one, and a difference is passed on. If the former keeper
// may have been changing the state, the cause is unknown: then the ghost becomes what its process
// is.

// stopped stops the ghost of a process that has stopped. The keeper answers GhostStop when the
// ghost is about to stop, and GhostSync when it has stopped.
func (c *Core) stopped(p *proc, sig uint8) {
	p.stops = true
	c.shift(p, &wire.GhostStop{PID: p.pid, Signal: sig}, &wire.GhostSync{PID: p.pid})
}

// continued continues the ghost of a process that continues.
func (c *Core) continued(p *proc) {
	p.stops = false
	c.shift(p, &wire.GhostCont{PID: p.pid})
}

// shift sends the requests that make a ghost stop or continue as its process has.
func (c *Core) shift(p *proc, requests ...wire.Message) {
	p.shifting++
	c.series(p, requests, &shifted{p: p, event: c.hold(p.sess), request: requests[0], stops: p.stops, conts: p.conts})
}

// shifted handles the keeper's answer when a ghost has stopped or continued.
type shifted struct {
	p       *proc
	event   held
	request wire.Message
	stops   bool // as the process did
	conts   int  // as they were
}

func (r *shifted) answered(c *Core, errno unix.Errno) {
	r.p.shifting--
	r.p.halted = r.stops && r.p.conts == r.conts
	c.differs(r.p, r.request, errno)
	r.event.do(c)
}

// stoppedMeanwhile gives processes the signals that their ghosts must have got while there was no
// keeper: a ghost has stopped, or continues.
func (c *Core) stoppedMeanwhile(held, stopped []wire.PID) {
	for _, pid := range held {
		p := c.procs[pid]
		if p == nil || p.former != nil || p.state == ending || p.shifting > 0 {
			continue
		}
		switch _, ghost := slices.BinarySearch(stopped, pid); {
		case ghost && !p.halted:
			p.halted = true
			c.send(p, &wire.Signal{PID: pid, Info: wire.KernelSignal(unix.SIGSTOP)})
		case !ghost && p.halted:
			p.halted = false
			c.send(p, &wire.Signal{PID: pid, Info: wire.KernelSignal(unix.SIGCONT)})
		}
	}
}

// stoppedBefore is stoppedMeanwhile for a process whose ghost this master has found.
func (c *Core) stoppedBefore(p *proc) {
	_, p.halted = slices.BinarySearch(c.orphansStopped, p.pid)
	p.stopAsGhost()
}

// stopAsGhost makes a process stop or continue as its ghost has; it may not have heard of that in a
// former session. The signal comes before those that the keeper has reported and that are yet to be
// sent.
func (p *proc) stopAsGhost() {
	is, sig := stops, unix.SIGSTOP
	if p.stops {
		is, sig = continues, unix.SIGCONT
	}
	if p.shifting > 0 || p.halted == p.stops {
		return
	}
	for _, m := range p.signals.All() {
		if is(m) {
			return // it is kept already
		}
	}
	p.signals.Hasten(&wire.Signal{PID: p.pid, Info: wire.KernelSignal(sig)})
}
