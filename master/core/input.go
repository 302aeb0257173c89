package core

import (
	"time"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Input is something that has happened.
type Input interface{ apply(c *Core) }

// Time.
type (
	// Tick comes about once a second.
	Tick struct{}
	// News comes a moment after [Soon].
	News struct{}
)

func (Tick) apply(c *Core) { c.tick() }
func (News) apply(c *Core) { c.news = false; c.tellNews() }

// The keeper.
type (
	// KeeperFound is the first input: the keeper, and the ghosts that it has held since a former
	// master.
	KeeperFound struct {
		Boot    uint64 // of the front end
		Held    []Held
		Stopped []wire.PID // ghosts, in order
		Killed  []wire.PID // ghosts that are held in their exit after SIGKILL
	}
	// KeeperBack says that there is another keeper, or the same keeper over another connection.
	KeeperBack struct {
		Boot    uint64
		Held    []wire.PID
		Stopped []wire.PID
		Killed  []wire.PID
	}
	// FromKeeper is a message of the keeper; Number is that of the request that it answers.
	FromKeeper struct {
		Number  uint64
		Message wire.Message
	}
)

// Held is a ghost of a former master.
type Held struct {
	PID     wire.PID
	Adopted wire.Adopted // how it was adopted; zero: not known
	UID     uint32       // real user of the ghost; 0 if it has ended
	Limit   uint64       // its RLIMIT_NPROC; 0: not known
}

func (in KeeperFound) apply(c *Core) {
	c.boot = in.Boot
	c.settleUntil, c.returnUntil = c.clock.Add(settleTime), c.clock.Add(returnTime)
	c.orphansFound(in.Held, in.Stopped)
	c.killed(in.Killed)
}

func (in KeeperBack) apply(c *Core) {
	c.boot = in.Boot
	c.keeperBack(in.Held, in.Stopped)
	c.killed(in.Killed)
}

func (in FromKeeper) apply(c *Core) { c.fromKeeper(in.Number, in.Message) }

// Nodes.
type (
	// NodeUp is a session with its inventory, and the events that the node reports again.
	// [CloseSession] refuses it.
	NodeUp struct {
		Session     Session
		Peer        Peer
		Certificate Validity
		Inventory   wire.Inventory
		Again       []wire.Event
	}
	// FromNode is a message of the slave of a session; Number is that of a request, or 0.
	FromNode struct {
		Session Session
		Number  uint64
		Message wire.Message
	}
	// NodeCut says that the link of a session has no connection, NodeHealed that it has one again,
	// on which the slave has shown a certificate.
	NodeCut    struct{ Session Session }
	NodeHealed struct {
		Session     Session
		Certificate Validity
	}
	// NodeLost says that a session has ended.
	NodeLost struct {
		Session Session
		Cause   error
	}
	// Join is a machine that has joined: an identity that wants a number (-1: any), or a name
	// (empty: the host's own). [Joined] answers it.
	Join struct {
		Client         Client
		Identity, Host string
		Want           wire.NodeID
		Name           string
		Addr           string        // address from which it comes, without port
		Again          []wire.NodeID // only nodes that it may become, which must have an identity; nil: any
	}
)

// Peer is the other end of a session.
type Peer struct {
	Key, Addr, Arch, BootID string
}

// Validity is the time in which a certificate is good.
type Validity struct{ From, Until time.Time }

func (in NodeUp) apply(c *Core) {
	s := &session{id: in.Session, peer: in.Peer, certificate: in.Certificate, inventory: in.Inventory, again: in.Again, up: true}
	c.sessions[s.id] = s
	if err := c.sessionUp(s); err != nil {
		c.close(s, err)
	}
}

func (in FromNode) apply(c *Core) {
	if s := c.sessions[in.Session]; s != nil {
		c.fromNode(s, in.Number, in.Message)
	}
}

func (in NodeCut) apply(c *Core) {
	if s := c.sessions[in.Session]; s != nil && s.up {
		s.up, s.cutAt = false, c.clock
	}
}

func (in NodeHealed) apply(c *Core) {
	if s := c.sessions[in.Session]; s != nil {
		s.up, s.certificate = true, in.Certificate
	}
}

func (in NodeLost) apply(c *Core) {
	if s := c.sessions[in.Session]; s != nil {
		delete(c.sessions, in.Session)
		c.sessionEnded(s, in.Cause)
	}
}

func (in Join) apply(c *Core) { c.join(in) }

// Clients.
type (
	// Run asks for a process. Its outputs are [Spawn], [Started], [Resume], [Fail] and [HandOver].
	Run struct {
		Client      Client
		Who         Caller
		Node        wire.NodeID
		PID         wire.PID // of the ghost
		Launch      uint64
		HangUp      bool   // the process gets SIGHUP when the client leaves
		Again       bool   // a former master may have begun the launch
		GhostExists bool   // a process with the ghost's number exists
		Limit       uint64 // RLIMIT_NPROC of the client
		Report      bool   // the client wants [Ended]
		Ends        bool   // it only ends processes of the node

		// For a client on a node: Who is the client's process, the front end chooses the number,
		// and the ghost is made.
		From  Session // session with that node; 0: the client is on the front end
		Argv  []string
		Leads bool // the process leads a session
	}
	// Refuse says that no slave can be asked for a launch.
	Refuse struct {
		Client Client
		PID    wire.PID
		Launch uint64
		Stage  wire.Stage
		Errno  unix.Errno
	}
	// Attach asks to go on with a process of a node. [Attached] answers it.
	Attach struct {
		Client Client
		Node   wire.NodeID
		From   Session // as in Run; with 0 the following fields are not needed
		Who    Caller
		PID    wire.PID
		Launch uint64
	}
	// ClientAttached says that a client has come back to its process, which the node of a session has.
	ClientAttached struct {
		Session Session
		Client  Client
		Parent  wire.PID // the client's process
		PID     wire.PID
		Launch  uint64
		HangUp  bool
		Report  bool
	}
	// ClientRefused says that a node has nothing more of a process for the client that has come back to it.
	ClientRefused struct {
		Session Session
		UID     uint32 // the client's
		PID     wire.PID
		Launch  uint64
	}
	// ClientAway says that a client has lost its process with the session of its node, or that the node
	// has nothing more of it.
	ClientAway struct {
		Client Client
		PID    wire.PID
		Told   bool // it has been told what [Ended] says
	}
	// ClientLeft says that a client has closed the connection of its process.
	ClientLeft struct {
		Client Client
		PID    wire.PID
		Told   bool // as in [ClientAway]
	}
	// SetNodes changes nodes, Revoke forgets the identity of one. [Reply] answers them.
	SetNodes struct {
		Client Client
		Who    Caller
		Change wire.SetNodes
	}
	Revoke struct {
		Client Client
		Node   wire.NodeID
	}
	// EndAll sends a signal to all processes.
	EndAll struct{ Signal unix.Signal }
)

func (in Run) apply(c *Core) { c.run(in) }

func (in Refuse) apply(c *Core) { c.refuse(in) }

func (in Attach) apply(c *Core) { c.attach(in) }

func (in ClientAttached) apply(c *Core) { c.attached(in) }

func (in ClientRefused) apply(c *Core) { c.nothingLeft(in) }

func (in ClientAway) apply(c *Core) {
	if in.Told {
		c.knowsEnd(in.PID, in.Client)
	}
	if p := c.of(in.PID, in.Client); p != nil {
		p.client = 0
		c.absent[in.PID] = c.clock
	}
}

func (in ClientLeft) apply(c *Core) {
	if in.Told {
		c.knowsEnd(in.PID, in.Client)
	}
	c.clientLeft(in.PID, in.Client)
}

func (in SetNodes) apply(c *Core) { c.setNodes(in) }

func (in Revoke) apply(c *Core) { c.revoke(in) }

func (in EndAll) apply(c *Core) { c.signalAll(in.Signal) }

// Kernel and store.
type (
	// Answer answers [Ask]. Its fields depend on the question.
	Answer struct {
		Number uint64
		Errno  unix.Errno
		PID    wire.PID
		PIDs   []wire.PID
		Root   bool
		Groups []TaskGroup
		Text   string
	}
	// Kept answers [Keep]: the records are on disk, or there is an error and nothing has changed.
	Kept struct {
		Number uint64
		Err    error
	}
)

func (in Answer) apply(c *Core) {
	then := c.asks[in.Number]
	delete(c.asks, in.Number)
	if then != nil {
		then.told(c, &in)
	}
}

func (in Kept) apply(c *Core) {
	then := c.keeps[in.Number]
	delete(c.keeps, in.Number)
	if then != nil {
		then.kept(c, in.Err)
	}
}
