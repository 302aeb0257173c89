package sim

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/master/core"
	"bproc/pidmap"
	"bproc/wire"
)

// find returns the process with a number and birth on any node.
func (s *Sim) find(pid wire.PID, birth uint64) *proc {
	for _, n := range s.nodes {
		if p := n.procs[pid]; p != nil && p.birth == birth {
			return p
		}
	}
	return nil
}

// check checks the state after a step.
func (s *Sim) check() {
	owners := map[wire.PID]wire.NodeID{}
	for _, n := range s.nodes {
		for _, pid := range slices.Sorted(maps.Keys(n.procs)) {
			if birth := n.procs[pid].birth; birth <= s.bootedAt || s.keeper.lost[birth] != nil {
				continue // the master is yet to see it, and to kill it
			}
			if other, two := owners[pid]; two {
				s.fail("process %d is on nodes %d and %d", pid, other, n.id)
			}
			owners[pid] = n.id
		}
		for _, b := range n.holds() {
			for _, other := range s.nodes {
				if other == n {
					continue
				}
				if other.has(b) {
					s.fail("nodes %d and %d have the numbers from %d", n.id, other.id, b.First)
				}
				if overlap(b, other.home) {
					s.fail("node %d has the numbers from %d, which are at home on node %d", n.id, b.First, other.id)
				}
			}
		}
	}
}

// holds returns the blocks of a node whose lease has not run out since it got them.
func (n *node) holds() []wire.Block {
	if len(n.procs) == 0 && (n.expired || n.sim.now.Sub(n.heard) > lease) {
		return nil
	}
	return n.blocks
}

func (n *node) has(b wire.Block) bool {
	return slices.ContainsFunc(n.holds(), func(own wire.Block) bool { return overlap(withGap(own), b) })
}

// withGap returns a block with its gap.
func withGap(b wire.Block) wire.Block {
	return wire.Block{First: b.First, Count: b.Count + int32(pidmap.Gap(b))}
}

func overlap(a, b wire.Block) bool { return a.First < b.End() && b.First < a.End() }

// ghostEnds is called when a ghost is told to end: its process must have ended before, with the
// same status.
func (s *Sim) ghostEnds(g *ghost, status wire.Status) {
	birth := g.adopted.Birth
	for _, c := range s.everyone {
		if c.launch != birth {
			continue
		}
		if c.exited {
			s.fail("the end of %d is told twice", c.ghost)
		}
		c.exited, c.status, c.endedBy, c.endedAt = true, status, s.core, s.now
		lost := status == killed || status == wire.ExitStatus(255) // its status is lost, or that it ran
		if p := c.started; p != nil && p.ended && status != p.status && !lost {
			s.fail("process %d ended with %v, and its ghost with %v", g.pid, p.status, status)
		}
	}
}

// arrived is called when a process gets a signal of its ghost: each arrives at most once, and in
// order.
func (s *Sim) arrived(p *proc, seq uint64, sig unix.Signal) {
	l := s.kernel.procs[p.pid]
	if l == nil || l.ghost == nil || l.ghost.adopted.Birth != p.birth {
		return // its ghost is being made, or has ended
	}
	if sent, is := l.ghost.sent[seq]; !is || sent != sig && sent != 0 {
		s.fail("process %d gets %v number %d, which its ghost has not got", p.pid, sig, seq)
		return
	}
	l.ghost.arrived[seq] = true
}

// tooLate is called when a process has ended before a signal could reach it.
func (s *Sim) tooLate(m *wire.Signal) {
	l := s.kernel.procs[m.PID]
	if l == nil || l.ghost == nil {
		return
	}
	for _, c := range s.everyone {
		if c.launch == l.ghost.adopted.Birth && c.started != nil && c.started.ended && l.ghost.arrived != nil {
			l.ghost.arrived[m.Seq] = true
		}
	}
}

// checkCalm checks the running processes when nothing is in transit: they have got all signals, and
// clients know that their processes run.
func (s *Sim) checkCalm() {
	s.checkShares()
	s.checkLines()
	for _, n := range s.nodes {
		if n.home.Count > 0 && !slices.ContainsFunc(n.blocks, n.isAtHome) {
			s.fail("node %d has not the numbers at home: %v, %v", n.id, n.home, n.blocks)
		}
		if l := n.link; l.placed != uint64(len(l.events)) {
			s.fail("output of node %d waits behind event %d of %d", n.id, l.placed, len(l.events))
		}
		for number, a := range n.calls {
			if a.call.Op != wire.CallEnd {
				s.fail("call %d of process %d on node %d is not answered", number, a.p.pid, n.id)
			}
		}
		for _, p := range n.inOrder() {
			l := s.kernel.procs[p.pid]
			if l == nil || l.ghost == nil || l.ghost.adopted.Birth != p.birth {
				s.fail("process %d (birth %d) runs without a ghost", p.pid, p.birth)
				return
			}
			s.checkLooks(p, l)
			for _, seq := range slices.Sorted(maps.Keys(l.ghost.sent)) {
				if sig := l.ghost.sent[seq]; sig != 0 && !l.ghost.arrived[seq] {
					s.fail("process %d has not got %v number %d", p.pid, sig, seq)
				}
			}
			if c := p.client; c != nil && !c.left && (c.conn == 0 || !c.runs) {
				s.fail("client %d does not know that process %d runs", c.pid, c.ghost)
			}
		}
	}
}

// placed is called when output of a node that followed an event may pass: the ghosts of all earlier
// births must exist, or have ended with their processes.
func (s *Sim) placed(o core.Placed) {
	l := s.links[o.Session]
	if l == nil || l.broken {
		return
	}
	n := l.node
	l.placed = max(l.placed, o.Event)
	for _, e := range l.events[:min(o.Event, uint64(len(l.events)))] {
		if e.Kind != wire.EventForked {
			continue
		}
		p := s.find(e.PID, e.Birth)
		if p == nil || p.ended {
			continue
		}
		if q := s.kernel.procs[e.PID]; (q == nil || q.ghost.adopted.Birth != e.Birth) && !s.dies(l, e) {
			s.fail("output of node %d passes event %d, and %d has no ghost", n.id, o.Event, e.PID)
		}
	}
}

// dies reports whether a process will be killed because its ghost could not be made, or has ended.
func (s *Sim) dies(l *link, e wire.Event) bool {
	if s.keeper.lost[e.Birth] != nil || l.node.slave.looks != nil || len(l.node.init.in) > 0 {
		return true // the slave was told to
	}
	return slices.ContainsFunc(l.down, func(o core.ToNode) bool {
		switch m := o.Message.(type) {
		case *wire.Signal:
			return m.PID == e.PID
		case *wire.KillAll:
			return true
		}
		return false
	})
}

// atRest describes something that is not at rest; empty: there is none.
func (s *Sim) atRest() string {
	for _, n := range s.nodes {
		if len(n.procs) > 0 {
			return fmt.Sprintf("node %d has %d processes, %d first", n.id, len(n.procs), n.inOrder()[0].pid)
		}
		if len(n.calls) > 0 {
			return fmt.Sprintf("%d calls of node %d are not answered", len(n.calls), n.id)
		}
		if d := n.slave; d == nil || d.core.Size() > 0 || d.held != 0 {
			return fmt.Sprintf("the slave of node %d is not at rest: %+v", n.id, d)
		}
		if len(n.init.kept) > 0 {
			return fmt.Sprintf("init of node %d keeps %v", n.id, n.init.kept)
		}
	}
	if u := s.core.Numbers(); u.Free != u.Pool {
		return fmt.Sprintf("%d of %d numbers have not gone back", u.Pool-u.Free, u.Pool)
	}
	if size := s.core.Size(); size > 0 {
		return fmt.Sprintf("the master has %d processes:\n%v", size, s.core)
	}
	for _, g := range s.keeper.ghosts() {
		return fmt.Sprintf("there is the ghost of %d (birth %d)", g.pid, g.adopted.Birth)
	}
	for conn, c := range s.clients {
		if c.conn != conn {
			return fmt.Sprintf("connection %d of client %d is not given up, which has made connection %d", conn, c.pid, c.conn)
		}
	}
	for _, c := range s.everyone {
		if !c.exited && !c.failed && !c.left {
			return fmt.Sprintf("client %d waits for process %d for ever; connection %d, runs %v", c.pid, c.ghost, c.conn, c.runs)
		}
	}
	return ""
}
