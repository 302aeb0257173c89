package core

import "time"

// lease is how long processes may live on without word from the master. It goes on between two
// sessions.
type lease struct {
	served  bool      // the master has said something in this session
	link    Heard     // of which the daemon has told last
	word    Heard     // the same, as far as it counts
	expired bool      // when the master was last looked after
	ends    time.Time // what init was told last
}

// hear takes in when something last came over the link. That is no word of the master until it has said
// something in the session: the link may end before the master has the inventory, and then
// the master counts from the session before. Without any, the deadline that init has from a former
// daemon holds.
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

// isServed notes that the master has said something in this session.
func (c *Core) isServed() {
	if l := &c.lease; !l.served {
		l.served = true
		c.hear(l.link)
	}
}

// keepLease looks after the lease: when the master has not been heard from for its time everything is
// killed, for soon the master will call these processes dead. The link may go on after that, with
// an empty space. Init is told when the lease will have run out, should this daemon not live to look.
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

// killAll ends all processes. They are let go on, since frozen ones do not die, and are not held
// again until the front end has caught up.
func (c *Core) killAll(surely bool) {
	c.backlog.ending = true
	c.letGo()
	c.emit(KillAll{surely})
}
