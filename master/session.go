package master

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
	"bproc/wire/link"
)

// leaseMargin is how much longer than the lease the master waits before it
// calls the processes of a silent node dead: the clocks of both sides may
// differ in speed, and the slave needs time for killing.
const leaseMargin = 5 * time.Second

// session is the connection to a slave, from its first message to the moment
// when nothing of it can go on. A cut of the network is not its end.
type session struct {
	peer      link.Peer
	link      transport
	inventory wire.Inventory
	node      wire.NodeID
	out       sender
	streams   opener
	barrier   barrier

	// Owned by the core.
	last    uint64  // number of the last event handled
	pending []birth // ghosts being made, in order of events
	ended   bool
}

// transport is what the master needs of a [link.Session].
type transport interface {
	Close(cause error)
	Connected() (up bool, since time.Time, changed <-chan struct{})
}

// opener opens streams to a slave.
type opener interface {
	Open(ctx context.Context) (link.Stream, error)
}

// birth is a ghost being made.
type birth struct {
	event uint64
	done  bool
}

func (s *session) put(m wire.Message) {
	if err := s.out.Put(0, m); err != nil && !s.ended {
		s.link.Close(err)
	}
}

// sessionUp makes a node part of the cluster, after its inventory has come.
func (c *core) sessionUp(s *session, now time.Time) error {
	n := c.nodes.byKey[s.peer.Key]
	if n == nil {
		return errUnknownNode
	}
	if old := n.sess; old != nil {
		c.log.Warn("node connected anew; its former connection is closed", "node", n.ID)
		old.link.Close(errReplaced)
		c.succeed(old, s)
	}
	s.node = n.ID
	n.sess, n.state, n.since = s, stateUp, now
	c.alloc.Return(n.ID)
	if err := c.alloc.Claim(n.ID, s.inventory.Blocks); err != nil {
		return err
	}
	c.inventory(n, s)
	// Even if there is none to lend, the slave learns that it may ask again.
	if err := c.lend(s, max(0, firstBlocks-len(s.inventory.Blocks))); err != nil {
		return err
	}
	c.log.Info("node is up", "node", n.ID, "name", n.Name, "addr", s.peer.Addr, "kernel", s.inventory.Kernel)
	return nil
}

// firstBlocks is how many blocks a node has at least: one in which its cursor
// stands, and one to go on to.
const firstBlocks = 2

// succeed moves the processes of a node to its new session.
func (c *core) succeed(old, next *session) {
	old.ended = true
	old.barrier.Break()
	for _, p := range c.procs {
		if p.sess == old {
			p.sess = next
		}
	}
}

// inventory compares what the node has with what the process table says. A
// process that the node does not have has ended without word; one that the
// table does not have cannot be let live, nobody could see or end it.
func (c *core) inventory(n *node, s *session) {
	alive := make(map[wire.PID]bool, len(s.inventory.PIDs))
	for _, pid := range s.inventory.PIDs {
		alive[pid] = true
		if p := c.procs[pid]; (p == nil && !c.claim(s, pid)) || p != nil && (p.node != n.ID || p.state == ending) {
			c.log.Warn("node has a process without a ghost; it is killed", "node", n.ID, "pid", pid)
			s.put(&wire.Signal{PID: pid, Info: kernelSignal(unix.SIGKILL)})
		}
	}
	for _, p := range c.procs {
		if p.node == n.ID && !alive[p.pid] {
			c.lose(p)
		}
	}
}

// lose ends a process that is certainly dead, without anybody knowing how.
func (c *core) lose(p *proc) {
	switch p.state {
	case adopting: // its ghost is not ours yet; adopted finds the session ended
		return
	case spawning:
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	case forking, running:
		c.end(p, wire.SignalStatus(int(unix.SIGKILL)))
	case ending:
	}
}

// silent returns for how long the slave can have heard nothing from the master:
// since the connection was lost, or not at all.
func (s *session) silent(now time.Time) time.Duration {
	up, since, _ := s.link.Connected()
	if up {
		return 0
	}
	return now.Sub(since)
}

// lend leases n more blocks of numbers to a node.
func (c *core) lend(s *session, n int) error {
	blocks, err := c.alloc.Lease(s.node, n)
	if err != nil {
		c.log.Error("no process numbers are left for a node", "node", s.node, "err", err)
		return err
	}
	s.put(&wire.Lease{Blocks: blocks})
	return nil
}

// sessionEnded takes a node out of the cluster: its link is closed, and its
// processes are dead, by their slave's lease if not before.
func (c *core) sessionEnded(s *session, cause error, now time.Time) {
	if s.ended {
		return
	}
	s.ended = true
	s.barrier.Break()
	n := c.nodes.byID[s.node]
	if n == nil || n.sess != s {
		return
	}
	c.log.Info("node is down", "node", n.ID, "name", n.Name, "err", cause)
	n.sess, n.state, n.since = nil, stateDown, now
	for _, p := range c.procs {
		if p.sess == s {
			c.lose(p)
		}
	}
	c.alloc.Return(n.ID)
}

// tick closes the sessions whose lease has run out.
func (c *core) tick(now time.Time) {
	c.dropFound(now)
	for _, n := range c.nodes.byID {
		if s := n.sess; s != nil && s.silent(now) > c.lease+leaseMargin {
			s.link.Close(errLease)
			c.sessionEnded(s, errLease, now)
		}
	}
}
