package core

import "time"

// lease is how long processes may live on without word from the master. It continues between
// sessions.
type lease struct {
	served  bool      // the master has sent something in this session
	link    Heard     // the last Heard
	word    Heard     // the last Heard that counts as word of the master
	expired bool      // at the last check
	ends    time.Time // what init was last told
}

// hear takes in when something last came over the link. That counts as word of the master only when
// the master has sent something in the session: the link may end before the master has the
// inventory, and then the master counts from the session before. Without any word, the deadline
// that init has from a former daemon holds.
func (c *Core) hear(in Heard) {
	l := &c.lease
	l.link = in
	if l.served {
		l.word = in
	}
	if !l.word.At.IsZero() {
		c.keepLease()
	}
}

// isServed records that the master has sent something in this session.
func (c *Core) isServed() {
	if l := &c.lease; !l.served {
		l.served = true
		c.hear(l.link)
	}
}

// keepLease checks the lease. If the master has not been heard from for the time of the lease, all
// processes are killed, for soon the master will consider them dead. The link may go on after that,
// with an empty space. Init is told when the lease runs out, in case this daemon does not live to
// check.
func (c *Core) keepLease() {
	l := &c.lease
	if ends := l.word.At.Add(l.word.Lease); !ends.Equal(l.ends) {
		l.ends = ends
		c.emit(Deadline{ends})
	}
	known := l.expired
	l.expired = c.clock.Sub(l.word.At) >= l.word.Lease
	if l.expired && !known {
		c.log.Warn("no word from the master for the time of the lease; all processes are killed")
		c.killAll(true)
	}
}

// killAll ends all processes. It lets them go on, since frozen ones do not die. They are not held
// again until the front end has caught up.
func (c *Core) killAll(surely bool) {
	c.backlog.ending = true
	c.letGo()
	c.emit(KillAll{surely})
}
