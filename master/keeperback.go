package master

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// anyOwner in GhostAdopt stands for a ghost whose image alone tells what it is.
const anyOwner = ^uint32(0)

// keeperBack goes on with a new keeper, or with the same one over another
// connection. It adopts the ghosts that live, ends again those that were being
// ended, and kills the processes of those that died with the old one. A ghost
// that no process has any more ends: nobody else would see to it. Then comes, in
// the order in which it was asked, what the old one may not have done, and what
// ghosts got while there was none.
func (c *core) keeperBack(next sender, held, stopped []wire.PID) {
	c.keeperLost(next)
	has := make(map[wire.PID]bool, len(held))
	for _, pid := range held {
		has[pid] = true
		if _, found := c.found[pid]; !found && c.procs[pid] == nil {
			c.tell(&wire.GhostExit{PID: pid, Status: wire.SignalStatus(int(unix.SIGKILL))})
		}
	}
	for _, p := range c.procs {
		for p.former != nil { // the others of this number wait for the oldest
			p = p.former
		}
		switch {
		case !p.ghost:
		case p.state == ending:
			c.exitAgain(p, has[p.pid])
		case !has[p.pid] && (p.state == running || p.state == spawning):
			c.readopt(p)
		}
	}
	c.foundStopped = stopped
	for pid := range c.found {
		if !has[pid] {
			c.adoptAgain(pid, func(unix.Errno) { c.unfind(pid) })
		}
	}
	again := c.again
	c.again = nil
	for _, ask := range again {
		ask()
	}
	c.stoppedMeanwhile(held, stopped)
}

// adoptAgain has the keeper hold a ghost that a former one held. When there is no
// such ghost, gone is called with the reason.
func (c *core) adoptAgain(pid wire.PID, gone func(unix.Errno)) {
	c.ask(&wire.GhostAdopt{PID: pid, UID: anyOwner}, func(errno unix.Errno) {
		switch errno {
		case 0, unix.EEXIST: // it is held
		case unix.EPIPE: // the next keeper is asked for all ghosts again
		default:
			gone(errno)
		}
	})
}

func (c *core) readopt(p *proc) {
	c.adoptAgain(p.pid, func(errno unix.Errno) {
		if p.ghost && c.procs[p.pid] == p {
			c.log.Error("a ghost died with its keeper; its process is killed", "node", p.node, "pid", p.pid, "err", errno)
			p.ghost = false
			p.kill()
		}
	})
}

// exitAgain repeats a GhostExit that a former keeper may not have carried out.
func (c *core) exitAgain(p *proc, held bool) {
	if !held {
		c.adoptAgain(p.pid, func(unix.Errno) {
			if now := c.procs[p.pid]; now == p || now != nil && now.former != nil {
				c.ghostGone(&wire.GhostGone{PID: p.pid, Asked: true, Status: p.status})
			}
		})
	}
	// Requests about one ghost are carried out in their order.
	c.tell(&wire.GhostExit{PID: p.pid, Status: p.status})
}
