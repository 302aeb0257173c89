package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// The next keeper gets the requests that the former one has not answered, in the same order and
// before all others: a new ghost is as its maker's ghost is at that moment, and a ghost can join a
// group only while the group has a member. A birth cannot be repeated if the former keeper has made
// the ghost. So the next keeper is first asked which of these ghosts it has, and all other requests
// wait for the answers.
//
//	GhostAdopt for each birth > EEXIST: made, ESRCH: not made > requests again > ends > requests that wait

// repeat is one request, or a series, that the next keeper gets again.
type repeat interface{ repeat(c *Core) }

// repetition is all that a keeper is asked again.
type repetition struct {
	all     []repeat
	ends    []*proc // processes whose ghosts are to end
	unknown int     // births without an answer to GhostAdopt, plus one until all are asked for
	blocked []*proc // processes whose requests wait
	lost    bool    // this keeper has died, too
}

// repeatAll makes the requests again, and then those for ends.
func (c *Core) repeatAll(ends []*proc) {
	r := &repetition{all: c.again, blocked: c.blocked, ends: ends, unknown: 1}
	c.again, c.blocked = nil, nil
	for _, again := range r.all {
		if b, is := again.(*rebirth); is {
			r.unknown++
			c.ask(&wire.GhostAdopt{PID: b.p.pid, UID: anyOwner}, &rebirthKnown{b, r})
		}
	}
	if r.unknown > 1 {
		r.block(c)
	}
	r.known(c)
}

// block makes all requests wait.
func (r *repetition) block(c *Core) {
	for _, pid := range inOrder(c.procs) {
		for p := c.procs[pid]; p != nil; p = p.former {
			p.blockers++
			r.blocked = append(r.blocked, p)
		}
	}
}

// known counts an answer about a birth. After the last it repeats the requests.
func (r *repetition) known(c *Core) {
	if r.unknown--; r.unknown > 0 || r.lost {
		return
	}
	for _, again := range r.all {
		again.repeat(c)
	}
	for _, p := range r.ends {
		if p.ghost { // its end has not been reported meanwhile
			c.exitAgain(p)
		}
	}
	for _, p := range r.blocked {
		c.unblock(p)
	}
}

// isLost leaves everything to the next keeper. The requests that wait go on waiting.
func (r *repetition) isLost(c *Core) {
	if r.lost {
		return
	}
	r.lost = true
	c.again, c.blocked = append(c.again, r.all...), append(c.blocked, r.blocked...)
}

// rebirth is a birth that was under way when its keeper died.
type rebirth struct {
	p, maker *proc
	birth    *wire.GhostFork
	then     reply
	errno    unix.Errno // what the next keeper says of the ghost
}

func (r *rebirth) repeat(c *Core) {
	switch {
	case r.errno == unix.EEXIST, r.p.state == ending && !r.p.ghost: // made, and perhaps reported to have ended
		r.then.answered(c, 0)
	case r.errno == unix.ESRCH: // also for a process that has ended: it may have made others
		(&ghostRequest{r.maker, r.birth, r.then}).do(c)
	default:
		c.endUnheld(r.p.pid, r.errno)
		r.then.answered(c, r.errno)
	}
}

// rebirthKnown handles the next keeper's answer about a ghost that the former one may have made.
type rebirthKnown struct {
	b *rebirth
	r *repetition
}

func (k *rebirthKnown) answered(c *Core, errno unix.Errno) {
	if errno == unix.EPIPE {
		k.r.isLost(c)
		return
	}
	k.b.errno = errno
	k.r.known(c)
}
