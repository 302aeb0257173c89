package core

import "bproc/wire"

// InitSession is the session of init. A process whose ghost is in a group or session
// without a number is in it, in a group of its own.
const InitSession wire.PID = 1

// wanted has init forget how an earlier process with the same number ended. The front end knows
// that end, since it gives the number to another process, but may not have confirmed it yet. Init
// identifies its processes by number only. If this daemon died between entering the next process
// and asking init for it, the next daemon would take the old end for that of the new process.
func (c *Core) wanted(pid wire.PID) {
	if c.events.tellsEnd(pid) {
		c.emit(Forget{[]wire.PID{pid}})
	}
}

// launch enters a process that the front end asks for in a session, and has it started. It does
// nothing if another session has begun: the inventory of that session lacks the process, and the
// front end asks again. It does nothing either if the front end is not done with an earlier answer
// to the same launch, which it will get.
func (c *Core) launch(in Launch) {
	spawn := in.Spawn
	if c.session == 0 || in.Session != c.session {
		return
	}
	c.isServed()
	if k, is := c.events.known[spawn.PID]; is && k.Birth == spawn.Launch && k.Birth != 0 {
		return
	}
	k := Asked(spawn)
	c.events.known[k.PID] = k
	c.append(knownRecord(k))
	c.emit(Start{k})
}

// Asked returns what is known of a process that the front end asks for.
func Asked(spawn *wire.Spawn) Known {
	k := Known{
		PID: spawn.PID, Birth: spawn.Launch, Parent: spawn.Parent, Began: spawn.SID, PGID: spawn.PGID, SID: spawn.SID,
		User:     wire.IDs{Real: spawn.UID, Effective: spawn.UID, Saved: spawn.UID},
		Group:    wire.IDs{Real: spawn.GID, Effective: spawn.GID, Saved: spawn.GID},
		Launched: true, Starting: true, Unnamed: spawn.PGID == 0 || spawn.SID == 0,
	}
	if k.Unnamed {
		k.PGID, k.SID = k.PID, InitSession
	}
	return k
}

// unasked removes a process that the front end has asked for and that init was not asked for. The
// front end is not told: it asks again when the inventory lacks the process.
func (c *Core) unasked(pid wire.PID) {
	delete(c.events.known, pid)
	c.append(unaskedRecord(pid))
}

// reparent enters the present parent of a launched process on the front end.
func (c *Core) reparent(m *wire.Reparent) {
	if k, ok := c.events.known[m.PID]; ok && k.Launched {
		k.Parent = m.Parent
		c.events.known[k.PID] = k
		c.append(parentRecord(k))
	}
	c.emit(SetParent{m.PID, m.Parent})
}

// reaped takes in the end of a launched process, or of a launch. Init may keep an end that the
// front end has long known: the daemon that should have said so has died.
func (c *Core) reaped(pid wire.PID) {
	delete(c.launched, pid)
	if _, is := c.events.known[pid]; !is {
		c.emit(Forget{[]wire.PID{pid}})
	}
}

// Quiet reports whether init has reported the ends of all processes that the front end has started.
func (c *Core) Quiet() bool { return len(c.launched) == 0 }

// IsLaunched reports whether the front end has started a process and init has not reported its end.
func (c *Core) IsLaunched(pid wire.PID) bool { return c.launched[pid] }
