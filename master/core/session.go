package core

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// LeaseMargin is how much longer than the lease the master waits before it declares the processes
// of a silent node dead: the clocks of both sides may differ in speed, and the slave needs time to
// kill.
const LeaseMargin = 5 * time.Second

// session is the use of the link to a slave, from its inventory until nothing of it can go on. A
// cut of the network does not end it.
type session struct {
	id          Session
	peer        Peer
	certificate Validity
	inventory   wire.Inventory
	again       []wire.Event // events that were reported again before the session was up
	node        wire.NodeID
	up          bool      // there is a connection
	cutAt       time.Time // since when there is none
	ended       bool

	last    uint64            // number of the last event handled
	placed  uint64            // up to this event all effects are in place
	acks    eventAcks         // of its events
	certain uint64            // up to this event everything is done, as the daemon was told
	told    uint64            // up to this event the slave knows that everything is done
	behind  bool              // the slave is to be told more
	pending []*effect         // effects of its events that are not in place, in order
	calls   []*call           // that wait for them, in order
	calling int               // calls without an answer
	exits   int               // of these, calls that wait for the end of a process
	argvs   int               // bytes of command lines that the keeper has yet to give to ghosts
	shares  map[uint32]uint64 // shares of users' budgets, as the slave knows them

	strangers map[wire.PID]stranger // by number

	emptying bool      // its node must lose all processes; then the session ends
	shutBy   time.Time // the node is set down: the session is closed when the node is empty, or at this time; zero: it is not
	numbers  int       // count of the node's numbers
	lending  bool      // the node gets blocks when all orphans are claimed
	wanted   bool      // the node gets another block then, or after the one that is being granted
	granting bool      // a block is being kept, and is granted then
	short    bool      // the node wants more than it can have, which was logged
	renewal  renewal
}

// begin begins the next event.
func (s *session) begin() {
	s.last++
	s.acks.begin()
}

// starting reports whether the node has yet to report that a process runs.
func (s *session) starting(pid wire.PID) bool { return slices.Contains(s.inventory.Starting, pid) }

// parent returns the parent of a process that was started from the front end, as the node knows it;
// 0: the node does not know it.
func (s *session) parent(pid wire.PID) wire.PID {
	if i, ok := slices.BinarySearch(s.inventory.PIDs, pid); ok && i < len(s.inventory.Parents) {
		return s.inventory.Parents[i]
	}
	return 0
}

// silent returns for how long the slave can have heard nothing from the master.
func (s *session) silent(now time.Time) time.Duration {
	if s.up {
		return 0
	}
	return now.Sub(s.cutAt)
}

func (c *Core) put(s *session, m wire.Message) { c.reply(s, 0, m) }

// reply answers a request.
func (c *Core) reply(s *session, number uint64, m wire.Message) {
	if !s.ended {
		c.emit(ToNode{s.id, number, m})
	}
}

// signalNode sends a signal for a process whose birth is among the events so far.
func (c *Core) signalNode(s *session, m *wire.Signal) {
	if !m.Group {
		m.Seen = max(s.last, s.inventory.Again)
	}
	c.put(s, m)
}

// killUnknown kills a process of a node that has no line in the table.
func (c *Core) killUnknown(s *session, pid wire.PID) {
	c.signalNode(s, &wire.Signal{PID: pid, Info: wire.KernelSignal(unix.SIGKILL)})
}

// close has the link of a session closed.
func (c *Core) close(s *session, cause error) { c.emit(CloseSession{s.id, cause}) }

// endNow closes a session without waiting for its end.
func (c *Core) endNow(s *session, cause error) {
	c.close(s, cause)
	c.sessionEnded(s, cause)
}

// over ends a session for everything that sends in it or waits for it.
func (c *Core) over(s *session) {
	s.ended = true
	c.emit(Broken{s.id})
	c.forgetEnds(s)
	c.answersOf(s.node).over(s)
}

// sessionUp makes a node part of the cluster, after its inventory has come. A node that claims
// numbers of another has to begin without processes.
func (c *Core) sessionUp(s *session) error {
	n := c.nodes.byKey[s.peer.Key]
	switch {
	case n == nil:
		return ErrUnknownNode
	case n.Down: // it was set down after it was admitted
		return ErrDown
	case c.duplicate(n, s):
		return ErrDuplicate
	}
	if old := n.sess; old != nil {
		c.log.Warn("node connected anew; its former connection is closed", "node", n.ID)
		c.close(old, ErrReplaced)
		c.over(old)
	}
	s.node = n.ID
	if n.boot != "" && n.boot != s.peer.BootID {
		c.log.Info("the machine of a node was started anew", "node", n.ID, "name", n.Name)
	}
	n.sess, n.lostAt, n.gone, n.boot = s, time.Time{}, false, s.peer.BootID
	for _, p := range c.onNodeInOrder(n.ID) {
		p.sess = s
		p.signals.renew() // before any event is told again
	}
	c.claimNumbers(s)
	c.boundProcesses(s)
	s.shares, s.strangers = map[uint32]uint64{}, map[wire.PID]stranger{}
	unasked := c.replay(n, s)
	c.unclaimed(n)
	for _, b := range c.budgetsInOrder() {
		if b.nodes[n.ID] != nil {
			c.shareSoon(b)
		}
	}
	c.tellAllAgain(n.ID)
	if s.emptying {
		c.put(s, new(wire.KillAll))
	}
	// Even if there is no block to grant, the slave learns that it may ask again.
	c.lend(s, s.numbers == 0)
	c.orphansClaimed()
	c.arrives(n)
	c.spawnAgain(s, unasked)
	s.inventory = wire.Inventory{Kernel: s.inventory.Kernel, CPUs: s.inventory.CPUs, Memory: s.inventory.Memory, Again: s.inventory.Again, Space: s.inventory.Space} // the rest is entered
	c.isUp(s)
	c.log.Info("node has connected", "node", n.ID, "name", n.Name, "state", string(n.state), "addr", s.peer.Addr, "kernel", s.inventory.Kernel)
	return nil
}

// lose ends a process that is certainly dead. How it ended is not known.
func (c *Core) lose(p *proc) {
	switch {
	case p.state == adopting: // its ghost is not adopted yet, and its node was not asked for it
	case p.state == spawning && p.launch != nil:
		c.abandon(p, wire.StageNode, unix.EHOSTDOWN)
	case p.state != ending: // one of a former master's launch may have run
		p.lost = true
		c.end(p, wire.SignalStatus(int(unix.SIGKILL)))
		c.report(p)
	}
}

// shut ends the service of a node: its processes have to end, and then its session. Until then the
// node only reports these ends.
func (c *Core) shut(s *session, by time.Time) {
	s.emptying, s.shutBy = true, by
	c.put(s, new(wire.KillAll))
	c.emit(StopViews{s.id})
}

// sessionEnded takes a node out of the cluster: its link is closed. The processes of the node, and
// so their ghosts, live on until the slave's lease has run out, or until the node comes back and
// says which of them exist.
func (c *Core) sessionEnded(s *session, cause error) {
	if s.ended {
		return
	}
	c.over(s)
	n := c.nodes.byID[s.node]
	if n == nil || n.sess != s {
		return
	}
	n.sess, n.lostAt, n.power = nil, c.clock, powering{}
	c.become(n, n.state.after(nodeLeaves), "")
	c.log.Info("node is down", "node", n.ID, "name", n.Name, "err", cause)
}

// tick checks leases, timeouts, and nodes that are to become empty.
func (c *Core) tick() {
	c.hangUpAbsent()
	c.forgetReports()
	c.dropOrphans()
	c.forgetCalls()
	c.dropShares()
	c.tickTasks()
	now := c.clock
	for _, n := range c.nodes.sorted() {
		c.giveUp(n.ID)
		c.goOnWithPower(n)
		if n.sess != nil {
			c.failWaiting(n.sess)
		}
		switch s := n.sess; {
		case s == nil:
			if !n.lostAt.IsZero() && now.Sub(n.lostAt) > c.config.Lease+LeaseMargin {
				c.dead(n)
			}
		case s.silent(now) > c.config.Lease+LeaseMargin:
			c.endNow(s, ErrLease)
			c.dead(n)
		case !s.shutBy.IsZero() && (n.procs == 0 || now.After(s.shutBy)):
			c.endNow(s, ErrDown)
		case s.emptying && n.procs == 0:
			c.endNow(s, ErrEmptied)
		case !c.certificates(s):
			c.endNow(s, ErrExpired)
		}
	}
}

// Reasons why the master ends the session of a slave, or refuses it.
var (
	ErrUnknownNode = errors.New("the identity of this node is not in the node table: it was revoked, or another has taken its place; enrol the node again: make a token with 'bpctl enroll' on the front end, and start bpslave with it")
	ErrRevoked     = errors.New("the identity of the node was revoked")
	ErrRejoined    = errors.New("the node has joined again with another identity")
	ErrDown        = errors.New("the node is set down (bpctl -s)")
	ErrReplaced    = errors.New("the same identity has connected anew")
	ErrLeft        = errors.New("the node has left")
	ErrLease       = errors.New("no word from the slave within lease and margin; its processes are dead")
	ErrExpired     = errors.New("the certificate of this node has expired")
	ErrOrder       = errors.New("events are not in order")
	ErrUnexpected  = errors.New("unexpected message")
	ErrEmptied     = errors.New("the node has come without numbers of its own, or with very many processes without ghosts; its processes have ended, and it may come anew")
	// ErrDuplicate refuses a slave, which comes again. A slave whose machine was booted anew is
	// served as soon as the loss of its former connection has been noticed.
	ErrDuplicate = errors.New("a slave with the same identity is connected; if this is not its machine, join it anew with an empty state directory")
)
