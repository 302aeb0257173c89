package core

import (
	"time"

	"bproc/wire"
)

// report is how a process has ended. A client that was away, or whose connection was replaced, can ask
// for it for returnTime.
type report struct {
	launch uint64
	parent wire.PID
	ended  wire.Ended
	client Client // who has been told
	at     time.Time
}

// report tells the client of a process how it has ended, if the client wants to know.
func (c *Core) report(p *proc) {
	ended := wire.Ended{Status: p.status, Usage: p.usage, WithNode: p.lost}
	if p.client != 0 && p.report {
		c.emit(Ended{p.client, ended})
	}
	if _, absent := c.absent[p.pid]; absent || p.report || p.lost {
		c.reports[p.pid] = report{p.birth, p.parent, ended, p.client, c.clock}
	}
}

// knowsEnd forgets the report of a process that its client has, and does not ask for again.
func (c *Core) knowsEnd(pid wire.PID, client Client) {
	if r, ok := c.reports[pid]; ok && r.client == client {
		delete(c.reports, pid)
	}
}

// reportAgain tells a client that has come back how its process has ended meanwhile.
func (c *Core) reportAgain(in ClientAttached) {
	if r, ok := c.reports[in.PID]; ok && r.launch == in.Launch {
		c.emit(Ended{in.Client, r.ended})
	} else {
		c.emit(Ended{in.Client, wire.Ended{Status: wire.StatusUnknown}})
	}
}

// forgetReports forgets each report returnTime after its ghost has gone.
func (c *Core) forgetReports() {
	for pid, r := range c.reports {
		switch p := c.procs[pid]; {
		case p != nil && p.is(r.launch):
			r.at = c.clock
			c.reports[pid] = r
		case c.clock.Sub(r.at) > returnTime:
			delete(c.reports, pid)
		}
	}
}
