package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// anyOwner in GhostAdopt stands for a ghost that its image alone identifies.
const anyOwner = ^uint32(0)

// keeperBack goes on with a new keeper, or with the same keeper over another connection. It has the
// keeper adopt the ghosts that live and end those that were being ended, and kills the processes of
// those that died with the old keeper. A ghost without a process ends, because nothing else would
// end it. Requests that the old keeper may not have carried out come first, in their order, and
// ends last. Then follow the signals that ghosts got while there was no keeper.
func (c *Core) keeperBack(held, stopped []wire.PID) {
	c.keeperLost()
	has := make(map[wire.PID]bool, len(held))
	for _, pid := range held {
		has[pid] = true
	}
	var ends []*proc
	for _, pid := range inOrder(c.procs) {
		p := c.procs[pid].oldest() // the other processes of this number wait for it
		switch {
		case !p.ghost, p.unasked: // requests about a ghost that is yet to be made wait for that
		case p.state == ending:
			ends = append(ends, p)
			p.stays, p.doubt = has[p.pid], false
		case !has[p.pid] && (p.state == running || p.state == spawning):
			c.adoptAgain(p.pid, &readopted{p})
		}
	}
	c.repeatAll(ends)
	for _, pid := range held {
		if c.orphans[pid] == nil && c.procs[pid] == nil {
			c.endOrphan(Held{PID: pid})
		}
	}
	c.orphansStopped = stopped
	for _, pid := range inOrder(c.orphans) {
		if !has[pid] {
			c.adoptAgain(pid, &orphanLost{pid, c.orphans[pid].Adopted.Birth})
		}
	}
	c.stoppedMeanwhile(held, stopped)
}

// adoptAgain has the keeper hold a ghost that a former keeper held. If there is no such ghost, gone
// gets the reason.
func (c *Core) adoptAgain(pid wire.PID, gone reply) {
	c.ask(&wire.GhostAdopt{PID: pid, UID: anyOwner}, &adoptedAgain{pid, gone})
}

type adoptedAgain struct {
	pid  wire.PID
	gone reply
}

func (r *adoptedAgain) answered(c *Core, errno unix.Errno) {
	switch errno {
	case 0, unix.EEXIST: // it is held
	case unix.EPIPE: // the next keeper is asked for all ghosts again
	default:
		c.endUnheld(r.pid, errno)
		r.gone.answered(c, errno)
	}
}

// endUnheld ends a ghost that the keeper cannot hold, mostly because another process traces it (EPERM, as
// ptrace(2) says). Otherwise nothing would end the ghost, and its client would wait for it. The keeper checks the
// image and the mark of a ghost before it answers EPERM.
func (c *Core) endUnheld(pid wire.PID, errno unix.Errno) {
	if errno == unix.EPERM {
		c.emit(Kill{pid, unix.SIGKILL})
	}
}

// readopted handles the loss of a ghost whose process still ran when the keeper was asked to adopt the ghost
// again.
type readopted struct{ p *proc }

func (r *readopted) answered(c *Core, errno unix.Errno) {
	p, now := r.p, c.procs[r.p.pid]
	switch {
	case !p.ghost || now == nil || now.oldest() != p: // its end was reported meanwhile
	case p.state == ending:
		c.ghostGone(&wire.GhostGone{PID: p.pid})
	default:
		c.log.Error("a ghost died with its keeper; its process is killed", "node", p.node, "pid", p.pid, "err", errno)
		p.ghost = false
		c.kill(p)
	}
}

// orphanLost handles the loss of an orphan, which may have been claimed since.
type orphanLost struct {
	pid   wire.PID
	birth uint64
}

func (l *orphanLost) answered(c *Core, _ unix.Errno) {
	c.orphanGone(l.pid)
	p := c.procs[l.pid]
	if p == nil {
		return
	}
	if oldest := p.oldest(); oldest.is(l.birth) && oldest.ghost && oldest.state != forking {
		c.ghostGone(&wire.GhostGone{PID: l.pid})
	}
}

// exitAgain repeats a GhostExit that a former keeper may not have carried out. If it is behind
// other requests about the ghost, it goes out in its turn.
func (c *Core) exitAgain(p *proc) {
	if !p.stays || p.doubt {
		c.adoptAgain(p.pid, &exitedBefore{p})
	}
	p.stays, p.doubt = false, false
	if p.exits {
		exitRequest{p}.do(c)
	}
}

// exitedBefore handles the loss of a ghost that was to end.
type exitedBefore struct{ p *proc }

func (r *exitedBefore) answered(c *Core, _ unix.Errno) {
	if now := c.procs[r.p.pid]; now != nil && now.oldest() == r.p {
		c.ghostGone(&wire.GhostGone{PID: r.p.pid, Status: r.p.status})
	}
}
