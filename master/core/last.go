package core

import "golang.org/x/sys/unix"

// signalAll sends a signal to all processes, by their ghosts, and continues those that are stopped.
// Ghosts keep their numbers until the core lets them go.
func (c *Core) signalAll(sig unix.Signal) {
	for _, pid := range inOrder(c.procs) {
		if p := c.procs[pid]; p.ghost && p.state != ending {
			c.emit(Kill{pid, sig})
			c.emit(Kill{pid, unix.SIGCONT})
		}
	}
}
