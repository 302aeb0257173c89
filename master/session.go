package master

import (
	"context"
	"errors"
	"slices"
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
	certain   barrier // at the last event that is certain (tally)

	// Owned by the core.
	again    []wire.Event      // told before the session was up
	last     uint64            // number of the last event handled
	tally    tally             // of its events
	pending  []*effect         // of its events, that are not in place; in order
	calls    []*call           // that wait for them, in order
	calling  int               // calls without an answer
	ends     int               // of them: those that wait for the end of a process
	shares   map[uint32]uint64 // of users' budgets, as the slave knows them
	told     uint64            // how far the slave knows the front end to be
	behind   bool              // it is to be told more
	ended    bool
	emptying bool // its node is to have no processes; then it ends
	numbers  int  // that it has
	lending  bool // numbers are granted when all found ghosts are claimed
	wanted   int  // how many blocks
	argvs    int  // bytes of command lines that the keeper has yet to give to ghosts
	renewal  renewal

	shutViews func()    // those on the node do not look any more; nil: nobody can
	shutBy    time.Time // the node is set down: closed when it is empty, or then; zero: it is not
}

// transport is what the master needs of a [link.Session].
type transport interface {
	Close(cause error)
	Connected() (up bool, since time.Time, changed <-chan struct{})
	Certificate() link.Validity
}

// opener opens streams to a slave.
type opener interface {
	Open(ctx context.Context) (link.Stream, error)
}

// begin begins with the next event.
func (s *session) begin() {
	s.last++
	s.tally.begin()
}

// starting reports whether the node has still to tell that a process runs.
func (s *session) starting(pid wire.PID) bool { return slices.Contains(s.inventory.Starting, pid) }

// parent returns the parent of a process that was started from the front end, as the node
// knows it; 0: it does not.
func (s *session) parent(pid wire.PID) wire.PID {
	if i, ok := slices.BinarySearch(s.inventory.PIDs, pid); ok && i < len(s.inventory.Parents) {
		return s.inventory.Parents[i]
	}
	return 0
}

func (s *session) put(m wire.Message) { s.reply(0, m) }

// signal sends a signal for a process that is known by an event so far.
func (s *session) signal(m *wire.Signal) {
	if !m.Group {
		m.Seen = max(s.last, s.inventory.Again)
	}
	s.put(m)
}

// reply answers a request.
func (s *session) reply(number uint64, m wire.Message) {
	if err := s.out.Put(number, m); err != nil && !s.ended {
		s.link.Close(err)
	}
}

// breakOff turns away who waits for events.
func (s *session) breakOff() {
	s.barrier.Break()
	s.certain.Break()
}

// sessionUp makes a node part of the cluster, after its inventory has come. One
// that claims numbers of another node has to begin without processes.
func (c *core) sessionUp(s *session, now time.Time) error {
	n := c.nodes.byKey[s.peer.Key]
	if n == nil {
		return errUnknownNode
	}
	if n.Down { // since it was admitted
		return errDown
	}
	if old := n.sess; old != nil {
		c.log.Warn("node connected anew; its former connection is closed", "node", n.ID)
		old.link.Close(errReplaced)
		old.ended = true
		old.breakOff()
		c.forsake(old)
	}
	s.node = n.ID
	if n.boot != "" && n.boot != s.peer.BootID {
		c.log.Info("the machine of a node was started anew", "node", n.ID, "name", n.Name)
	}
	n.sess, n.lostAt, n.gone, n.boot = s, time.Time{}, false, s.peer.BootID
	for _, p := range c.procs {
		if p.node == n.ID {
			p.sess = s
		}
	}
	if err := c.claimNumbers(n.ID, s.inventory.Blocks); err != nil {
		c.log.Error("node claims process numbers that are not its own; its processes are killed", "node", n.ID, "err", err)
		s.emptying = true
	}
	for _, b := range s.inventory.Blocks {
		s.numbers += int(b.Count)
	}
	s.shares = map[uint32]uint64{}
	unasked := c.inventory(n, s)
	for _, b := range c.budgets {
		if b.nodes[n.ID] != nil {
			c.shareSoon(b)
		}
	}
	c.tellAllAgain(n.ID)
	if s.emptying {
		s.put(new(wire.KillAll))
	}
	// Even if there is none to lend, the slave learns that it may ask again.
	c.lend(s, max(0, firstBlocks-len(s.inventory.Blocks)))
	c.allFound()
	n.enter(now)
	c.spawnAgain(s, unasked)
	s.inventory = wire.Inventory{Kernel: s.inventory.Kernel, CPUs: s.inventory.CPUs, Memory: s.inventory.Memory, Again: s.inventory.Again} // the rest is taken in
	c.isUp(s)
	c.log.Info("node has connected", "node", n.ID, "name", n.Name, "state", n.state, "addr", s.peer.Addr, "kernel", s.inventory.Kernel)
	return nil
}

// claimNumbers enters the blocks that a node has. It may have fewer than were granted to
// it, and no others.
func (c *core) claimNumbers(node wire.NodeID, blocks []wire.Block) error {
	err := c.blocks.cover(node, blocks)
	c.alloc.Return(node)
	if err == nil {
		err = c.alloc.Claim(node, blocks)
	}
	if err != nil {
		blocks = nil
	}
	return errors.Join(err, c.blocks.set(node, blocks))
}

// lose ends a process that is certainly dead, without anybody knowing how.
func (c *core) lose(p *proc) {
	switch p.state {
	case adopting: // its ghost is not ours yet, nor has its node been asked for it
		return
	case spawning:
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	case forking, running:
		c.end(p, wire.SignalStatus(int(unix.SIGKILL)))
	case ending:
	}
}

// shut ends what a node is served: its processes are to end, and then its session. Until
// then it only tells of their ends.
func (s *session) shut(by time.Time) {
	s.emptying, s.shutBy = true, by
	s.put(new(wire.KillAll))
	if s.shutViews != nil {
		s.shutViews()
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

// sessionEnded takes a node out of the cluster: its link is closed. Its
// processes, and so their ghosts, live on until the slave's lease has run out,
// or the node comes back and says which of them there are.
func (c *core) sessionEnded(s *session, cause error, now time.Time) {
	if s.ended {
		return
	}
	s.ended = true
	s.breakOff()
	c.forsake(s)
	n := c.nodes.byID[s.node]
	if n == nil || n.sess != s {
		return
	}
	n.sess, n.lostAt = nil, now
	n.enter(now)
	c.log.Info("node is down", "node", n.ID, "name", n.Name, "err", cause)
}

// tick looks after leases, and after nodes that are to become empty.
func (c *core) tick(now time.Time) {
	c.clock = now
	c.hangUpAbsent(now)
	c.dropFound(now)
	c.forgetCalls()
	c.dropShares()
	c.tickTasks()
	for _, n := range c.nodes.byID {
		c.giveUp(n.ID, now)
		switch s := n.sess; {
		case s == nil:
			if !n.lostAt.IsZero() && now.Sub(n.lostAt) > c.lease+leaseMargin {
				c.dead(n)
			}
		case s.silent(now) > c.lease+leaseMargin:
			s.link.Close(errLease)
			c.sessionEnded(s, errLease, now)
			c.dead(n)
		case !s.shutBy.IsZero() && (n.procs == 0 || now.After(s.shutBy)):
			s.link.Close(errDown)
			c.sessionEnded(s, errDown, now)
		case s.emptying && n.procs == 0:
			s.link.Close(errEmptied)
			c.sessionEnded(s, errEmptied, now)
		case !c.certificates(s, now):
			s.link.Close(link.ErrExpired)
			c.sessionEnded(s, link.ErrExpired, now)
		}
	}
}
