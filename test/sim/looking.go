package sim

import (
	"slices"

	slave "bproc/slave/core"
	"bproc/wire"
)

// look makes a user look at both cores, and compares what they show with the real state.
func (s *Sim) look() {
	c := s.core
	on := map[wire.PID]wire.NodeID{}
	for _, p := range c.Procs() {
		on[p.PID] = p.Node
	}
	ghosts := c.Ghosts()
	for _, g := range s.keeper.ghosts() {
		if node, is := on[g.pid]; is && g.adopted.Owner>>32 != 0 && node != nodeOf(g.adopted.Owner) {
			// the number may have been reused, and this ghost may be about to end
			if !g.zombie && s.find(g.pid, g.adopted.Birth) != nil {
				s.fail("process %d is shown on node %d, and is on node %d", g.pid, node, nodeOf(g.adopted.Owner))
			}
		}
		if !ghosts[g.pid] && s.find(g.pid, g.adopted.Birth) != nil {
			s.fail("the ghost of process %d, which runs, is not known", g.pid)
		}
	}
	for _, n := range s.nodes {
		s.lookAt(n, on)
	}
	list := c.NumberList()
	if int(list.Free) > int(list.Pool) || len(list.Nodes) < len(s.nodes) {
		s.fail("numbers: %+v", list)
	}
	here := &wire.Changed{Procs: texts(on, ghosts)}
	c.OfFrontEnd(here)
	for _, t := range here.Procs {
		if _, is := on[t.PID]; is {
			s.fail("process %d is shown on the front end, and is on node %d", t.PID, on[t.PID])
		}
	}
	if !c.Knows(0) || c.Knows(99) || c.String() == "" {
		s.fail("the table of nodes is not as it was made")
	}
}

func texts(on map[wire.PID]wire.NodeID, ghosts map[wire.PID]bool) (all []wire.Texts) {
	for pid := range ghosts {
		all = append(all, wire.Texts{PID: pid})
	}
	return append(all, wire.Texts{PID: 1})
}

// lookAt looks at a node.
func (s *Sim) lookAt(n *node, on map[wire.PID]wire.NodeID) {
	c := s.core
	told := &wire.Changed{Ended: []wire.PID{2}}
	for pid := range on {
		told.Procs, told.Ended = append(told.Procs, wire.Texts{PID: pid}), append(told.Ended, pid)
	}
	c.OfNode(n.id, told)
	for _, t := range told.Procs {
		if on[t.PID] != n.id {
			s.fail("node %d is believed about process %d of node %d", n.id, t.PID, on[t.PID])
		}
	}
	if slices.ContainsFunc(told.Ended, func(pid wire.PID) bool { node, is := on[pid]; return is && node != n.id }) {
		s.fail("node %d is believed about the ends of others", n.id)
	}
	session, errno := c.SessionFor(n.id, 0)
	if l := n.link; errno == 0 && (l == nil || l.id != session) && s.links[session] != nil {
		s.fail("node %d has session %d, and is looked at by %d", n.id, l.id, session)
	}
	if id := c.NodeOf(session); errno == 0 && id != n.id {
		s.fail("session %d is of node %d, not %d", session, n.id, id)
	}
	for _, uid := range []uint32{0, 1000, 1001, 1002} {
		if c.StartedBy(n.id, uid) && !n.served[uid] && errno == 0 {
			s.fail("user %d has started nothing on node %d, and may look", uid, n.id)
		}
	}
	if id := c.NodeWith(n.key()); id != n.id && id >= 0 {
		s.fail("the identity of node %d is that of node %d", n.id, id)
	}
	name, refused, _ := c.MayPowerOn(n.id)
	if refused == 0 && name != n.line.name {
		s.fail("node %d is called %q", n.id, name)
	}
	c.IsDown(session)
	c.Hardware(n.id)
	c.IsSettled()
	if d := n.slave; d != nil {
		d.look()
	}
}

// look checks the core of a slave.
func (d *daemon) look() {
	c := d.core
	for pid, k := range c.Known() {
		if k.Launched && !k.Starting && !c.IsLaunched(pid) && d.settled() && len(d.node.init.out) == 0 && d.node.procs[pid] != nil {
			d.node.sim.fail("process %d, which was started on node %d, is not known to be", pid, d.node.id)
		}
	}
	if hold := c.HoldBack(); hold < slave.MinHold || hold > 200e6 {
		d.node.sim.fail("births are held back for %v", hold)
	}
	if c.Last()+1 != d.next && d.node.link != nil {
		d.node.sim.fail("event %d of node %d follows %d", d.next, d.node.id, c.Last())
	}
	c.Quiet()
	if c.String() == "" {
		d.node.sim.fail("nothing is shown of node %d", d.node.id)
	}
}
