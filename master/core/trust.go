package core

import (
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Trust is how far a node is believed. Only what the front end has started, and its descendants,
// runs there, whatever the node says (events.go, orphans.go). On a node with limited trust,
// processes have only users for whom something was started there, and calls of root's processes are
// about processes of that node.
const (
	trustFull    = "full"
	trustLimited = "limited"
)

func validTrust(word string) bool { return word == trustFull || word == trustLimited }

// OverflowUser is the user in place of others if the configuration names none: the kernel's own
// overflow user (overflowuid of proc_sys_fs(5)).
const OverflowUser = 65534

func (n *node) trust() string {
	if n.Trust == trustLimited {
		return trustLimited
	}
	return trustFull
}

func (n *node) limited() bool { return n.trust() == trustLimited }

// serve notes that something was started on a node for the user of a process. A process without a ghost
// may be what somebody asks for in vain.
func (c *Core) serve(p *proc) {
	if !p.ghost || c.nodes.byID[p.node] == nil {
		return
	}
	if c.served[p.node] == nil {
		c.served[p.node] = map[uint32]bool{}
	}
	c.served[p.node][p.starter] = true
}

// believed returns the users that a process has, as far as its node is believed; nil: no change.
func (c *Core) believed(id wire.NodeID, says *wire.IDs) *wire.IDs {
	n := c.nodes.byID[id]
	if says == nil || n == nil || !n.limited() {
		return says
	}
	const same = ^uint32(0) // setresuid(2): -1
	one := func(uid uint32) uint32 {
		if uid == same || c.served[id][uid] {
			return uid
		}
		return c.config.Squash
	}
	return &wire.IDs{Real: one(says.Real), Effective: one(says.Effective), Saved: one(says.Saved)}
}

// rises notes whether a process's ghost, when it has the users that it is asked to have now, is root's.
func (p *proc) rises(user *wire.IDs) {
	const same = ^uint32(0) // setresuid(2): -1
	all := []uint32{user.Real, user.Effective, user.Saved}
	p.rising = slices.Contains(all, 0) || p.rising && slices.Contains(all, same)
}

// isLimited reports whether the trust in a node is limited. Signals that root sends there are for
// processes of the node only: the front end's kernel, which judges all others, allows root
// everything.
func (c *Core) isLimited(id wire.NodeID) bool {
	n := c.nodes.byID[id]
	return n == nil || n.limited()
}

// hasNumber reports whether the ghost with a number is that of a process of a node.
func (c *Core) hasNumber(node wire.NodeID, pid wire.PID) bool {
	p := c.procs[pid]
	return p != nil && p.node == node && p.oldest().node == node
}

// target returns the process that a signal is for; 0 or less means a group or all processes.
func (k *call) target() wire.PID {
	if k.op == wire.CallTgkill && k.pid(0) == 0 {
		return k.pid(1) // tkill(2) names only a thread
	}
	return k.pid(0)
}

// sendConfined sends a signal only to processes of the caller's node.
func (c *Core) sendConfined(t *sending) {
	switch to := t.k.target(); {
	case to <= 0 && t.k.op == wire.CallKill:
		c.sendMembers(t)
	case !c.hasNumber(t.k.s.node, to):
		c.outOfReach(t, to)
	default:
		t.send(c)
	}
}

// outOfReach answers that a signal is not sent: its target does not exist, or may not be reached.
func (c *Core) outOfReach(t *sending, to wire.PID) {
	if to == 0 {
		t.answered(c, unix.ESRCH)
	} else {
		c.wonder(Exists{to}, (*outOfReach)(t))
	}
}

type outOfReach sending

func (t *outOfReach) told(c *Core, a *Answer) {
	if a.Errno != 0 {
		(*sending)(t).answered(c, unix.ESRCH)
	} else {
		(*sending)(t).answered(c, unix.EPERM)
	}
}

// sendMembers sends a signal to those members of a process group, or of all processes, that are on
// the node. Processes that are born meanwhile are found as for any other group (groupsignals.go).
func (c *Core) sendMembers(t *sending) {
	group, all := -t.k.pid(0), t.k.pid(0) == -1
	var there []wire.PID
	for _, pid := range inOrder(c.onNode[t.k.s.node]) {
		if !all || pid != t.k.caller {
			there = append(there, pid)
		}
	}
	m := &sendingEach{sending: t, failed: unix.ESRCH}
	if all {
		m.told(c, &Answer{PID: 1, PIDs: there})
		return
	}
	c.wonder(Members{Group: group, Of: t.k.caller, Among: there}, m)
}

// sendingEach has kill(2) called for one process after another: the keeper never has more than one
// of these requests. As with kill(2), it is enough that one process has got the signal.
type sendingEach struct {
	*sending
	to      []wire.PID
	reached bool
	failed  unix.Errno
}

func (m *sendingEach) told(c *Core, a *Answer) {
	if len(a.PIDs) == 0 {
		c.outOfReach(m.sending, -a.PID)
		return
	}
	m.to = a.PIDs
	m.next(c)
}

func (m *sendingEach) next(c *Core) {
	k, p := m.k, m.p
	for len(m.to) > 0 && !c.hasNumber(k.s.node, m.to[0]) {
		m.to = m.to[1:]
	}
	switch {
	case len(m.to) == 0 && m.reached:
		m.sending.answered(c, 0)
		return
	case len(m.to) == 0 || c.procs[p.pid] != p || !p.ghost:
		m.sending.answered(c, m.failed)
		return
	}
	to := m.to[0]
	m.to = m.to[1:]
	c.request(p, &wire.GhostCall{PID: p.pid, Op: k.op, Args: []int64{int64(to), k.args[1]}, NoKill: k.noKill}, m)
}

func (m *sendingEach) answered(c *Core, errno unix.Errno) {
	switch errno {
	case 0:
		m.reached = true
	case unix.EPIPE: // the keeper has died, and it is unknown whether the signal was sent
		m.to, m.failed = nil, errno
	default:
		m.failed = errno
	}
	m.next(c)
}
