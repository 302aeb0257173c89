package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// anyOwner in GhostAdopt stands for a ghost whose image alone tells what it is.
const anyOwner = ^uint32(0)

// keeperBack goes on with a new keeper, or with the same one over another
// connection. It adopts the ghosts that live, ends again those that were being
// ended, and kills the processes of those that died with the old one. A ghost
// that no process has any more ends: nobody else would see to it. What the old one may not
// have done comes in the order in which it was asked, ends last, and then what ghosts got while there
// was none.
func (c *Core) keeperBack(held, stopped []wire.PID) {
	c.keeperLost()
	has := make(map[wire.PID]bool, len(held))
	for _, pid := range held {
		has[pid] = true
	}
	var ends []*proc
	for _, pid := range inOrder(c.procs) {
		p := c.procs[pid].oldest() // the others of this number wait for it
		switch {
		case !p.ghost, p.unasked: // what is to be done with a ghost that is to be made waits for that
		case p.state == ending:
			ends = append(ends, p)
			p.stays = has[p.pid]
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
			c.adoptAgain(pid, orphanLost(pid))
		}
	}
	c.stoppedMeanwhile(held, stopped)
}

// adoptAgain has the keeper hold a ghost that a former one held. When there is no
// such ghost, gone gets the reason.
func (c *Core) adoptAgain(pid wire.PID, gone reply) {
	c.ask(&wire.GhostAdopt{PID: pid, UID: anyOwner}, &adoptedAgain{gone})
}

type adoptedAgain struct{ gone reply }

func (r *adoptedAgain) answered(c *Core, errno unix.Errno) {
	switch errno {
	case 0, unix.EEXIST: // it is held
	case unix.EPIPE: // the next keeper is asked for all ghosts again
	default:
		r.gone.answered(c, errno)
	}
}

// readopted is the loss of the ghost of a process that runs.
type readopted struct{ p *proc }

func (r *readopted) answered(c *Core, errno unix.Errno) {
	if p := r.p; p.ghost && c.procs[p.pid] == p {
		c.log.Error("a ghost died with its keeper; its process is killed", "node", p.node, "pid", p.pid, "err", errno)
		p.ghost = false
		c.kill(p)
	}
}

// orphanLost is the loss of an orphan.
type orphanLost wire.PID

func (pid orphanLost) answered(c *Core, _ unix.Errno) { c.orphanGone(wire.PID(pid)) }

// exitAgain repeats a GhostExit that a former keeper may not have carried out. One that is behind other requests about
// the ghost goes out in its turn.
func (c *Core) exitAgain(p *proc) {
	if !p.stays {
		c.adoptAgain(p.pid, &exitedBefore{p})
	}
	if p.exits {
		exitRequest{p}.do(c)
	}
}

// exitedBefore is the loss of a ghost that was to end.
type exitedBefore struct{ p *proc }

func (r *exitedBefore) answered(c *Core, _ unix.Errno) {
	if now := c.procs[r.p.pid]; now != nil && now.oldest() == r.p {
		c.ghostGone(&wire.GhostGone{PID: r.p.pid, Status: r.p.status})
	}
}
