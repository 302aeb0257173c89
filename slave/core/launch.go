package core

import "bproc/wire"

// InitSession is the session of init. A process whose ghost is in a group or session
// without a number is in it, in a group of its own.
const InitSession wire.PID = 1

// wanted has init forget how an earlier process of a number ended: the front end knows that, since it gives
// the number to another, but may not have said so yet. Init says of its processes only what their numbers are;
// should this daemon die between entering the next one and asking init for it, the next daemon would
// take that end for its own.
func (c *Core) wanted(pid wire.PID) {
	if c.events.tellsEnd(pid) {
		c.emit(Forget{[]wire.PID{pid}})
	}
}

// launch enters a process that the front end asks for in a session, and has it started. It is not
// if another session has begun: its inventory lacks the process, and the front end asks again. Nor
// is it if the front end is not done with an earlier answer to the same: it will get that.
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

// Asked is what is known of a process that the front end asks for.
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

// unasked takes a process out that the front end has asked for, and that init was not. The front
// end is not told: it asks once more when the inventory lacks it.
func (c *Core) unasked(pid wire.PID) {
	delete(c.events.known, pid)
	c.append(unaskedRecord(pid))
}

// reparent enters the parent that a launched process has on the front end now.
func (c *Core) reparent(m *wire.Reparent) {
	if k, ok := c.events.known[m.PID]; ok && k.Launched {
		k.Parent = m.Parent
		c.events.known[k.PID] = k
		c.append(parentRecord(k))
	}
	c.emit(SetParent{m.PID, m.Parent})
}

// reaped is for the end of a launched process, or of a launch. Init may keep one of which the front
// end has long known: the daemon that was to say so has died.
func (c *Core) reaped(pid wire.PID) {
	delete(c.launched, pid)
	if _, is := c.events.known[pid]; !is {
		c.emit(Forget{[]wire.PID{pid}})
	}
}

// Quiet reports whether init has said how all processes have ended that the front end has
// started.
func (c *Core) Quiet() bool { return len(c.launched) == 0 }

// IsLaunched reports whether the front end has started a process, and init has not said that it
// has ended.
func (c *Core) IsLaunched(pid wire.PID) bool { return c.launched[pid] }
