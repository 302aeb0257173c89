package core

import (
	"golang.org/x/sys/unix"

	"bproc/wire"
)

// Session is the number that the daemon gives a session with a node. It is not 0.
type Session uint32

// Client is the number that the daemon gives the connection of a client. It is not 0.
type Client uint64

// Output is something that the daemon has to do. Outputs are done in order.
type Output interface{ output() }

// Messages and connections.
type (
	// ToKeeper sends a message to the keeper; Number is 0 if it has no answer.
	ToKeeper struct {
		Number  uint64
		Message wire.Message
	}
	// ToNode sends a message to the slave of a session; Number is that of the request that it
	// answers, or 0.
	ToNode struct {
		Session Session
		Number  uint64
		Message wire.Message
	}
	// CloseSession closes the link of a session, which then ends ([NodeLost]). The session may have
	// ended already.
	CloseSession struct {
		Session Session
		Cause   error
	}
	// StopViews ends the looks from the node of a session, for good.
	StopViews struct{ Session Session }
	// Placed lets pass what the node of a session says after events up to this one: their effects
	// on the front end are in place.
	Placed struct {
		Session Session
		Event   uint64
	}
	// Certain says that all events of a session up to this one are done for good.
	Certain struct {
		Session Session
		Event   uint64
	}
	// Broken turns away everything that waits for events of a session: no more will come.
	Broken struct{ Session Session }
	// Certify makes a new certificate for the node of a session, as it asks.
	Certify struct {
		Session  Session
		Node     wire.NodeID
		Identity string
		CSR      []byte
	}
)

// Steps of a launch, to its client.
type (
	// Spawn has the client's connection open the process's stream in a session. It replaces earlier
	// steps that were not taken yet.
	Spawn struct {
		Client    Client
		Session   Session
		PID       wire.PID // of the ghost
		TaskGroup uint64
		Tasks     uint64 // processes that the node may have of that group
	}
	// Started says that the process runs. [ClientLeft] follows at once if the client is gone.
	Started struct {
		Client Client
		PID    wire.PID
	}
	// Resume says that the process was started before, and in which session to go on.
	Resume struct {
		Client  Client
		Session Session
	}
	// Fail says that the process will not run.
	Fail struct {
		Client Client
		Stage  wire.Stage
		Errno  unix.Errno
		Text   string // for people, where there is more to say
	}
	// Ended tells a client that wants it how the process has ended.
	Ended struct {
		Client Client
		Report wire.Ended
	}
	// HandOver has a connection give the process's stream to another connection of its client.
	HandOver struct{ From, To Client }
)

// Answers to clients and to the daemon's other parts.
type (
	// Attached answers [Attach]: the session with the node, or 0.
	Attached struct {
		Client  Client
		Session Session
	}
	// Reply answers a client's request.
	Reply struct {
		Client  Client
		Message wire.Message
	}
	// Joined answers [Join].
	Joined struct {
		Client Client
		Node   wire.NodeID
		Name   string
		Home   wire.Block
		Err    error
	}
)

// Everything else.
type (
	// Ask asks the kernel of the front end. [Answer] answers it.
	Ask struct {
		Number   uint64
		Question Question
	}
	// Forget says that an answer is not wanted any more.
	Forget struct{ Number uint64 }
	// Keep puts records into a table of the store; a nil record removes one. [Kept] answers it: it
	// is the very next input, unless Later is set. Records are kept in order.
	Keep struct {
		Number  uint64
		Table   Table
		Records map[string][]byte
		Later   bool
	}
	// Kill sends a signal to a process of the front end (kill(2)); it may have ended.
	Kill struct {
		PID    wire.PID
		Signal unix.Signal
	}
	// Log is a line of the log.
	Log logged
	// Born says that the table has one process more.
	Born struct{}
	// Soon asks for [News] within a moment.
	Soon struct{}
)

// Table is a table of the store.
type Table string

// The tables that the core has.
const (
	Nodes  Table = "nodes"
	Blocks Table = "blocks"
)

func (ToKeeper) output()     {}
func (ToNode) output()       {}
func (CloseSession) output() {}
func (StopViews) output()    {}
func (Placed) output()       {}
func (Certain) output()      {}
func (Broken) output()       {}
func (Certify) output()      {}
func (Spawn) output()        {}
func (Started) output()      {}
func (Resume) output()       {}
func (Fail) output()         {}
func (HandOver) output()     {}
func (Ended) output()        {}
func (Attached) output()     {}
func (Reply) output()        {}
func (Joined) output()       {}
func (Ask) output()          {}
func (Forget) output()       {}
func (Keep) output()         {}
func (Kill) output()         {}
func (Log) output()          {}
func (Born) output()         {}
func (Soon) output()         {}
