package sim

import (
	"encoding/binary"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/wire"
)

// keeper holds ghosts, and carries out one request after the other.
type keeper struct {
	sim  *Sim
	in   []core.ToKeeper
	out  []core.Input
	boot uint64            // of the front end
	seq  uint64            // of the last signal
	ends []*wire.GhostGone // the last ones, which may be reported to a master again

	lost    map[uint64]*ghost        // by birth, those that have ended while no keeper held them
	spent   map[wire.PID]bool        // their numbers; in reality no number is used again that soon
	trusted map[*wire.GhostCall]bool // calls of nodes with full trust
	unmade  map[wire.PID]bool        // groups that there are not: the ghost that would have made one, or its parent, was killed before
}

// ask takes in a request. A node is trusted in what it was trusted in when the master first asked.
func (k *keeper) ask(o core.ToKeeper) {
	if m, is := o.Message.(*wire.GhostCall); is {
		if g := k.ghost(m.PID); g != nil && !k.sim.nodes[nodeOf(g.adopted.Owner)].isLimited() {
			k.trusted[m] = true
		}
	}
	k.in = append(k.in, o)
}

// ghost is the keeper's record of a ghost.
type ghost struct {
	keeper  *keeper
	pid     wire.PID
	held    bool
	killed  bool // SIGKILL holds it in its exit
	zombie  bool
	stopped bool
	remade  bool // it, or one that has made it, was made anew: by a ghost that may have changed since
	adopted wire.Adopted
	kept    []*wire.GhostSignal    // may not have reached the process
	sent    map[uint64]unix.Signal // all that it got, by number; 0: it was lost
	arrived map[uint64]bool        // of these, what reached its process, which may have been started again after that
}

// anyOwner in GhostAdopt means a ghost that was held before.
const anyOwner = ^uint32(0)

func newKeeper(s *Sim) *keeper {
	return &keeper{sim: s, boot: 7, lost: map[uint64]*ghost{}, spent: map[wire.PID]bool{}, trusted: map[*wire.GhostCall]bool{}, unmade: map[wire.PID]bool{}}
}

// ghosts returns the ghosts that are held, in order.
func (k *keeper) ghosts() (all []*ghost) {
	for _, pid := range slices.Sorted(maps.Keys(k.sim.kernel.procs)) {
		if g := k.sim.kernel.procs[pid].ghost; g != nil && g.held {
			all = append(all, g)
		}
	}
	return all
}

// found returns what a new master is told; kept signals are reported again.
func (k *keeper) found() core.KeeperFound {
	in := core.KeeperFound{Boot: k.boot}
	for _, g := range k.ghosts() {
		in.Held = append(in.Held, core.Held{PID: g.pid, Adopted: g.adopted, UID: k.sim.kernel.procs[g.pid].uid, Limit: limitOf(k.sim.kernel.procs[g.pid].uid)})
		if g.killed {
			in.Killed = append(in.Killed, g.pid)
		}
		if g.stopped {
			in.Stopped = append(in.Stopped, g.pid)
		}
		k.tellKept(g)
	}
	return in
}

// dies ends the keeper, with its requests and reports that are not done, and lets another one take
// its ghosts, but for a few that have ended meanwhile. Signals that were not reported to the master are
// lost, except SIGKILL.
func (k *keeper) dies() {
	k.sim.fault("keeper dies")
	for range k.sim.rng.IntN(len(k.in) + 1) {
		k.do()
	}
	k.in, k.out = nil, nil
	for _, g := range k.ghosts() {
		g.forget()
		g.unheld()
		k.mayEnd(g)
	}
	k.sim.step(k.back())
}

// cut ends the connection between keeper and master: the master's last requests are lost. Over the
// next connection the keeper reports the kept signals, and ends that the master may know.
func (k *keeper) cut() {
	k.sim.fault("keeper cut")
	for range k.sim.rng.IntN(len(k.in) + 1) {
		k.do()
	}
	k.in, k.out = nil, nil
	for _, g := range k.ghosts() {
		k.tellKept(g)
	}
	for _, m := range k.ends[k.sim.rng.IntN(len(k.ends)+1):] {
		k.out = append(k.out, core.FromKeeper{Message: m})
	}
	k.sim.step(k.back())
}

// back returns what a master is told over another connection.
func (k *keeper) back() core.KeeperBack {
	in := core.KeeperBack{Boot: k.boot}
	for _, g := range k.ghosts() {
		in.Held = append(in.Held, g.pid)
		if g.killed {
			in.Killed = append(in.Killed, g.pid)
		}
		if g.stopped {
			in.Stopped = append(in.Stopped, g.pid)
		}
	}
	return in
}

// tellKept reports the kept signals of a ghost.
func (k *keeper) tellKept(g *ghost) {
	for _, m := range g.kept {
		k.out = append(k.out, core.FromKeeper{Message: m})
	}
}

// unheld sends a ghost a signal while no keeper holds it: it stops or continues by itself.
func (g *ghost) unheld() {
	if !g.killed && !g.zombie && g.keeper.sim.chance(8) {
		g.stopped = !g.stopped
		g.keeper.sim.note("ghost %d stops while nobody holds it: %v", g.pid, g.stopped)
	}
}

// mayEnd ends a ghost now and then that no keeper holds, as a signal to it would.
func (k *keeper) mayEnd(g *ghost) {
	if g.killed || g.zombie || k.sim.quiet || k.sim.peaceful || !k.sim.chance(40) {
		return
	}
	k.sim.fault("ghost ends", g.pid)
	k.lost[g.adopted.Birth] = g
	k.tell(g.adopted.Birth, true)
	k.spent[g.pid] = true
	k.sim.kernel.end(g.pid)
}

// tell tells the client of a birth that the ghost has ended, or was made again.
func (k *keeper) tell(birth uint64, ended bool) {
	for _, c := range k.sim.everyone {
		if c.launch == birth {
			c.exited, c.status = ended, killed
		}
	}
}

// forget loses the kept signals.
func (g *ghost) forget() {
	for _, m := range g.kept {
		g.sent[m.Seq] = 0
	}
	g.kept = nil
}

// work carries out a request, or delivers a report to the master.
func (k *keeper) work() {
	if len(k.out) > 0 && (len(k.in) == 0 || k.sim.chance(2)) {
		in := k.out[0]
		k.out = k.out[1:]
		k.sim.step(in)
		return
	}
	if len(k.in) > 0 {
		k.do()
	}
}

// do carries out the next request.
func (k *keeper) do() {
	r := k.in[0]
	k.in = k.in[1:]
	errno := k.carryOut(r.Message)
	k.sim.note("keeper: %T %+v: %v", r.Message, r.Message, errno)
	if r.Number != 0 {
		k.out = append(k.out, core.FromKeeper{Number: r.Number, Message: &wire.GhostDone{Errno: uint32(errno)}})
	}
}

func (k *keeper) carryOut(m wire.Message) unix.Errno {
	switch m := m.(type) {
	case *wire.GhostAdopt:
		return k.adopt(m)
	case *wire.GhostFork:
		return k.fork(m)
	case *wire.GhostExit:
		return k.exit(m)
	case *wire.GhostTaken:
		for _, mark := range m.Marks {
			if g := k.ghost(mark.PID); g != nil {
				g.kept = slices.DeleteFunc(g.kept, func(s *wire.GhostSignal) bool { return s.Seq <= mark.Seq })
			}
		}
	case *wire.GhostCall:
		return k.call(m)
	default:
		return k.change(m)
	}
	return 0
}

// ghost returns a ghost that is held; nil: none.
func (k *keeper) ghost(pid wire.PID) *ghost {
	if p := k.sim.kernel.procs[pid]; p != nil && p.ghost != nil && p.ghost.held {
		return p.ghost
	}
	return nil
}

func (k *keeper) adopt(m *wire.GhostAdopt) unix.Errno {
	p := k.sim.kernel.procs[m.PID]
	switch {
	case p == nil || p.ghost == nil:
		return unix.ESRCH
	case p.ghost.held:
		return unix.EEXIST
	case m.UID == anyOwner: // no keeper has held it
		return unix.ESRCH
	case p.parent != m.Parent || p.uid != m.UID:
		return unix.EPERM
	}
	p.ghost.held = true
	p.ghost.adopted = wire.Adopted{PID: m.PID, Parent: m.Parent, HangUp: m.HangUp, Birth: m.Birth, Owner: m.Owner, Space: m.Space}
	return 0
}

func (k *keeper) fork(m *wire.GhostFork) unix.Errno {
	g := k.ghost(m.Parent)
	if g == nil || g.killed || g.zombie {
		k.unmade[m.Child] = true
		return unix.ESRCH
	}
	if k.sim.kernel.procs[m.Child] != nil {
		if isNested(m) {
			return unix.EEXIST
		}
		k.sim.fail("a ghost is to be made with number %d, which another has", m.Child)
		return unix.EEXIST
	}
	if k.sim.kernel.exists(-m.Child) == 0 { // a birth is reported again whose ghost has ended, and whose group has not
		return unix.EEXIST
	}
	parent := k.sim.kernel.procs[m.Parent]
	child := &local{pid: m.Child, parent: m.Parent, group: parent.group, session: parent.session, uid: parent.uid, name: parent.name, cgroup: parent.cgroup}
	if k.sim.kernel.isFull(parent.cgroup) {
		if k.sim.peaceful && !isNested(m) {
			k.sim.fail("there is no room for the ghost of %d, whose process is there", m.Child)
		}
		return unix.EAGAIN
	}
	child.ghost = &ghost{keeper: k, pid: m.Child, held: true, adopted: wire.Adopted{PID: m.Child, Birth: m.Birth, Owner: m.Owner, HangUp: m.HangUp, Space: m.Space}}
	child.ghost.remade = k.sim.had[m.Birth] || g.remade
	k.sim.had[m.Birth] = true
	if former := k.lost[m.Birth]; former != nil {
		child.ghost.sent, child.ghost.arrived = former.sent, former.arrived
		delete(k.lost, m.Birth)
		k.tell(m.Birth, false)
	}
	k.sim.kernel.procs[m.Child] = child
	delete(k.unmade, m.Child)
	return 0
}

// maxEnds is the greatest number of ends that are reported again.
const maxEnds = 3

// exit ends a ghost, whose process must have ended before.
func (k *keeper) exit(m *wire.GhostExit) unix.Errno {
	g := k.ghost(m.PID)
	if g == nil {
		return unix.ESRCH
	}
	if p := k.sim.find(m.PID, g.adopted.Birth); p != nil {
		k.sim.fail("the ghost of %d (birth %d) ends, and its process on node %d does not", g.pid, g.adopted.Birth, p.node.id)
	}
	if m.Zombie {
		g.zombie, g.stopped = true, false
		k.sim.kernel.orphan(m.PID)
		return 0
	}
	k.sim.ghostEnds(g, m.Status)
	k.sim.kernel.end(m.PID)
	gone := &wire.GhostGone{PID: m.PID, Asked: true, Status: m.Status}
	k.ends = append(k.ends[max(0, len(k.ends)-maxEnds+1):], gone)
	k.out = append(k.out, core.FromKeeper{Message: gone})
	return 0
}

// gets sends a ghost a signal: the keeper numbers it, keeps it and reports it. SIGCONT continues a
// stopped ghost at once.
func (g *ghost) gets(sig unix.Signal, code uint32, sender wire.PID) {
	g.getsWith(sig, code, sender, false)
}

// getsWith is gets, for a signal to the ghost alone or one that the keeper knows to be for its group.
func (g *ghost) getsWith(sig unix.Signal, code uint32, sender wire.PID, group bool) {
	if g.killed || g.zombie {
		return
	}
	g.killed = sig == unix.SIGKILL
	g.stopped = g.stopped && sig != unix.SIGKILL && sig != unix.SIGCONT
	g.keeper.seq++
	if g.sent == nil {
		g.sent, g.arrived = map[uint64]unix.Signal{}, map[uint64]bool{}
	}
	g.sent[g.keeper.seq] = sig
	info := make([]byte, 128)
	binary.LittleEndian.PutUint32(info, uint32(sig))
	binary.LittleEndian.PutUint32(info[8:], code)
	binary.LittleEndian.PutUint32(info[16:], uint32(sender))
	m := &wire.GhostSignal{PID: g.pid, Info: info, Seq: g.keeper.seq, Group: group}
	g.kept = append(g.kept, m)
	g.keeper.out = append(g.keeper.out, core.FromKeeper{Message: m})
}
