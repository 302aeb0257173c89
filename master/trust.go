package master

import (
	"slices"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// How far a node is believed. What runs there is what the front end has started, and its
// descendants, whatever the node says (events.go, found.go). Of one with limited trust,
// the users of processes are those for whom something was started there, and calls of
// root's processes are about processes of that node.
const (
	trustFull    = "full"
	trustLimited = "limited"
)

func validTrust(word string) bool { return word == trustFull || word == trustLimited }

// overflowUser is as whom users appear where nothing else is said: the kernel's own overflow user
// (overflowuid of proc_sys_fs(5)).
const overflowUser = 65534

func (n *node) trust() string {
	if n.Trust == trustLimited {
		return trustLimited
	}
	return trustFull
}

func (n *node) limited() bool { return n.trust() == trustLimited }

// serve notes that something was started on a node for a user.
func (c *core) serve(node wire.NodeID, uid uint32) {
	if c.served[node] == nil {
		c.served[node] = map[uint32]bool{}
	}
	c.served[node][uid] = true
}

// believed returns the users that a process has, of those that its node says; nil: as they
// were.
func (c *core) believed(id wire.NodeID, says *wire.IDs) *wire.IDs {
	n := c.nodes.byID[id]
	if says == nil || n == nil || !n.limited() {
		return says
	}
	const same = ^uint32(0) // setresuid(2): -1
	one := func(uid uint32) uint32 {
		if uid == same || c.served[id][uid] {
			return uid
		}
		return c.squash
	}
	return &wire.IDs{Real: one(says.Real), Effective: one(says.Effective), Saved: one(says.Saved)}
}

// confined reports whether a signal that a process sends is for processes of its node only.
// The front end's kernel, which judges all others, lets root do everything.
func (c *core) confined(k *call) bool {
	n := c.nodes.byID[k.s.node]
	return (n == nil || n.limited()) && c.front.Root(k.caller)
}

// hasNumber reports whether the ghost with a number is that of a process of a node.
func (c *core) hasNumber(node wire.NodeID, pid wire.PID) bool {
	p := c.procs[pid]
	return p != nil && p.node == node && p.oldest().node == node
}

// outOfReach is why a signal is not sent: there is nobody, or none that may be reached.
func (c *core) outOfReach(pid wire.PID) unix.Errno {
	if pid == 0 || c.front.Signal(pid) != nil {
		return unix.ESRCH
	}
	return unix.EPERM
}

// target returns whom a signal is for: a process, or, with 0 and less, a group or all.
func (k *call) target() wire.PID {
	if k.op == wire.CallTgkill && k.pid(0) == 0 {
		return k.pid(1) // tkill(2): there is a thread alone
	}
	return k.pid(0)
}

// sendMembers sends a signal to a process group, or to all, as far as they are of the
// node. Who is born meanwhile is found as of any other group (group.go).
func (c *core) sendMembers(k *call, p *proc, answer func(unix.Errno)) {
	group, all := -k.pid(0), k.pid(0) == -1
	if group == 0 {
		group, _ = c.front.Group(k.caller)
	}
	var there []wire.PID
	for pid := range c.onNode[k.s.node] {
		if !all || pid != k.caller {
			there = append(there, pid)
		}
	}
	c.slowly(func() func() {
		slices.Sort(there)
		members := slices.DeleteFunc(there, func(pid wire.PID) bool {
			of, err := c.front.Group(pid)
			return err != nil || !all && of != group
		})
		return func() {
			if len(members) == 0 {
				answer(c.outOfReach(-group))
				return
			}
			c.sendEach(k, p, members, answer)
		}
	})
}

// sendEach has kill(2) called for one process after the other: the keeper is never asked for
// more than one. As with kill(2), one that has got it is enough.
func (c *core) sendEach(k *call, p *proc, to []wire.PID, answer func(unix.Errno)) {
	reached, failed := false, unix.ESRCH
	var next func()
	next = func() {
		for len(to) > 0 && !c.hasNumber(k.s.node, to[0]) {
			to = to[1:]
		}
		switch {
		case len(to) == 0 && reached:
			answer(0)
			return
		case len(to) == 0 || c.procs[p.pid] != p || !p.ghost:
			answer(failed)
			return
		}
		m := &wire.GhostCall{PID: p.pid, Op: k.op, Args: []int64{int64(to[0]), k.args[1]}, NoKill: k.noKill}
		to = to[1:]
		c.request(p, m, func(errno unix.Errno) {
			switch errno {
			case 0:
				reached = true
			case unix.EPIPE: // the keeper has died, and nobody knows whether it was sent
				to, failed = nil, errno
			default:
				failed = errno
			}
			next()
		})
	}
	next()
}
