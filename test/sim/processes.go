package sim

import (
	"slices"

	"golang.org/x/sys/unix"

	slave "bproc/slave/core"
	"bproc/wire"
)

// looks are the attributes of a node's process that its ghost also has in the end.
type looks struct {
	group, session wire.PID
	uid            uint32
	name           string
	stop           unix.Signal // that has stopped it; 0: none
}

// changes changes a process.
func (n *node) changes() {
	p := n.any()
	if p == nil || n.sim.quiet {
		return
	}
	e := wire.Event{PID: p.pid, Birth: p.birth}
	switch n.sim.rng.IntN(8) {
	case 0:
		p.group, e.Kind = p.pid, wire.EventGrouped
		if p.session == p.pid {
			return // setpgid(2): EPERM
		}
	case 1:
		if p.group == p.pid || n.isGroup(p.pid) {
			return // setsid(2): EPERM
		}
		p.group, p.session, e.Kind = p.pid, p.pid, wire.EventGrouped
	case 2:
		other := n.any()
		if other.session != p.session || p.session == p.pid {
			return
		}
		p.group, e.Kind = other.group, wire.EventGrouped
	case 3:
		p.uid, e.Kind = n.anyUser(), wire.EventUser
	case 4, 5:
		p.name, e.Kind = pick(n.sim.rng, []string{"cat", "dog", "hen"}), wire.EventExeced
		e.Argv = []string{"/bin/" + p.name, "-x"}
		if n.sim.chance(4) {
			e.Argv = slices.Repeat([]string{e.Argv[0]}, 40<<10) // more than the next daemon can tell
		}
	case 6:
		e.Kind, e.Status = pick(n.sim.rng, []wire.EventKind{wire.EventReaper, wire.EventDeath}), 1
	default:
		n.stops(p, unix.SIGTTIN)
		return
	}
	n.changed(p, e)
}

// anyUser returns a user, possibly one for whom nothing was started.
func (n *node) anyUser() uint32 { return pick(n.sim.rng, []uint32{0, 1000, 1000, 1001, 1002}) }

// isGroup reports whether a group has members.
func (n *node) isGroup(group wire.PID) bool {
	for _, n := range n.sim.nodes {
		for _, p := range n.procs {
			if p.group == group {
				return true
			}
		}
	}
	return false
}

// changed has the kernel record a change of a process.
func (n *node) changed(p *proc, e wire.Event) {
	switch e.Kind {
	case wire.EventGrouped:
		e.PGID, e.SID = p.group, p.session
	case wire.EventUser:
		e.User = &wire.IDs{Real: p.uid, Effective: p.uid, Saved: p.uid}
	default:
	}
	n.sim.note("node %d: %d is %+v", n.id, p.pid, p.looks)
	n.records = append(n.records, record{p: p, event: e})
}

// stops stops a process, or continues it (0).
func (n *node) stops(p *proc, sig unix.Signal) {
	e := wire.Event{PID: p.pid, Birth: p.birth, Kind: wire.EventStopped, Status: wire.Status(sig)}
	if sig == 0 {
		e.Kind = wire.EventContinued
	}
	if (p.stop == 0) == (sig == 0) {
		return
	}
	p.stop = sig
	n.changed(p, e)
}

// takesEffect applies the effect of a signal.
func (n *node) takesEffect(p *proc, sig unix.Signal) {
	switch sig {
	case unix.SIGKILL, unix.SIGTERM, unix.SIGHUP:
		n.end(p, wire.SignalStatus(int(sig)))
	case unix.SIGSTOP, unix.SIGTSTP:
		if p.runs {
			n.stops(p, sig)
		}
	case unix.SIGCONT:
		n.stops(p, 0)
	default:
	}
}

// state returns what is known of a process after an event, given what was known before.
func state(known slave.Known, e *wire.Event) slave.Known {
	if e.Kind == wire.EventSpawned {
		known.Starting = false
	}
	if e.PGID != 0 {
		known.PGID, known.SID = e.PGID, e.SID
	}
	if e.User != nil {
		known.User = *e.User
	}
	return known
}

// checkLooks compares a process with its ghost.
func (s *Sim) checkLooks(p *proc, l *local) {
	uid := p.uid
	if p.node.isLimited() && !p.node.served[uid] {
		uid = nobody
	}
	switch {
	case p.again:
	case s.keeper.unmade[p.group]: // its ghost stays in the group before
	case !l.ghost.remade && (l.group != p.group || l.session != p.session):
		s.fail("process %d is in group %d of session %d, its ghost in group %d of session %d", p.pid, p.group, p.session, l.group, l.session)
	case !l.ghost.remade && l.name != p.name:
		s.fail("process %d is called %q, its ghost %q", p.pid, p.name, l.name)
	case l.uid != uid && !p.node.isLimited(): // with limited trust it depends on when something was started
		s.fail("process %d is user %d, its ghost %d", p.pid, p.uid, l.uid)
	}
	if l.ghost.stopped != (p.stop != 0) && !l.ghost.killed {
		s.fail("process %d is stopped by %d, its ghost: %v", p.pid, p.stop, l.ghost.stopped)
	}
}

// ghostName is the initial name of a ghost.
const ghostName = "ghost"
