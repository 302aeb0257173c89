package sim

import (
	"path"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// change repeats a change of a process in its ghost.
func (k *keeper) change(m wire.Message) unix.Errno {
	switch m := m.(type) {
	case *wire.GhostJoin:
		return k.join(m)
	case *wire.GhostExec:
		return k.with(m.PID, func(p *local) {
			switch {
			case m.Comm != "":
				p.name = m.Comm
			case len(m.Argv) > 0:
				p.name = path.Base(m.Argv[0])
			}
		})
	case *wire.GhostUser:
		return k.with(m.PID, func(p *local) { k.user(p, m.User.Real) })
	case *wire.GhostStop:
		return k.with(m.PID, func(p *local) { p.ghost.stopped = true })
	case *wire.GhostCont:
		return k.with(m.PID, func(p *local) { p.ghost.stopped = false })
	case *wire.GhostTrait, *wire.GhostSync:
		return k.with(0, nil)
	}
	k.sim.fail("the keeper does not know %T", m)
	return unix.EINVAL
}

// with changes a ghost that is alive.
func (k *keeper) with(pid wire.PID, change func(*local)) unix.Errno {
	if change == nil {
		return 0
	}
	if g := k.ghost(pid); g == nil || g.killed || g.zombie {
		return unix.ESRCH
	}
	change(k.sim.kernel.procs[pid])
	return 0
}

// join implements setsid and setpgid.
func (k *keeper) join(m *wire.GhostJoin) (errno unix.Errno) {
	gone := k.with(m.PID, func(p *local) {
		switch {
		case m.SID == m.PID:
			p.group, p.session = m.PID, m.PID
		case m.PGID != m.PID && !k.sim.kernel.hasGroup(p.session, m.PGID):
			errno = unix.EPERM
		default:
			p.group = m.PGID
		}
	})
	if gone != 0 && m.PGID == m.PID {
		k.unmade[m.PGID] = true
	}
	return max(errno, gone)
}

// hasGroup reports whether a session has a group.
func (k *kernel) hasGroup(session, group wire.PID) bool {
	for _, p := range k.procs {
		if p.group == group && p.session == session {
			return true
		}
	}
	return false
}

// user gives a ghost a user. On a node with limited trust that may only be a user for whom
// something was started there, or nobody.
func (k *keeper) user(p *local, uid uint32) {
	if uid == ^uint32(0) {
		return
	}
	n := k.sim.nodes[nodeOf(p.ghost.adopted.Owner)]
	if n.id == neverTrusted && uid != nobody && !n.served[uid] {
		k.sim.fail("ghost %d becomes user %d, for whom nothing was started on node %d", p.pid, uid, n.id)
	}
	p.uid = uid
}

// nodeOf returns the node of the owner of a ghost.
func nodeOf(owner uint64) wire.NodeID { return wire.NodeID(owner>>32) - 1 }

// neverTrusted is the node that never has full trust.
const neverTrusted = 2

// nobody stands for users that a node is not believed to have.
const nobody = 65534

// Origins of a signal (sigaction(2)).
const (
	siUser   = 0
	siKernel = 0x80
)

// call has a ghost send a signal to a process, or to a group.
func (k *keeper) call(m *wire.GhostCall) unix.Errno {
	g := k.ghost(m.PID)
	if g == nil || g.killed || g.zombie {
		return unix.ESRCH
	}
	sig, to := unix.Signal(m.Args[len(m.Args)-1]), wire.PID(m.Args[0])
	var all []*ghost
	for _, other := range k.ghosts() {
		p := k.sim.kernel.procs[other.pid]
		if to == other.pid || to < 0 && p.group == -to || to == 0 && p.group == k.sim.kernel.procs[m.PID].group {
			all = append(all, other)
		}
	}
	if len(all) == 0 {
		return unix.ESRCH
	}
	from := k.sim.nodes[nodeOf(g.adopted.Owner)]
	for _, other := range all {
		if k.sim.kernel.procs[m.PID].uid == 0 && !k.trusted[m] && nodeOf(other.adopted.Owner) != from.id {
			k.sim.fail("root on node %d, which is not trusted, sends a signal to %d of another node", from.id, other.pid)
		}
		if sig != 0 {
			other.gets(sig, siUser, m.PID)
		}
	}
	return 0
}

// killGroup sends a signal to a whole group, as a terminal or by kill(2). Processes that are born and
// have no ghosts yet get it with their makers.
func (k *kernel) killGroup(group wire.PID, sig unix.Signal) {
	code, byKill := uint32(siKernel), k.sim.chance(2)
	if byKill {
		code = siUser
	}
	k.sim.note("kill group %d %s, by kill %v", group, unix.SignalName(sig), byKill)
	for _, g := range k.sim.keeper.ghosts() {
		if p := k.procs[g.pid]; p.group == group {
			g.getsWith(sig, code, 0, byKill)
		}
	}
}
