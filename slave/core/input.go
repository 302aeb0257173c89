package core

import (
	"time"

	"bproc/wire"
)

// Input is something that has happened.
type Input interface{ apply(c *Core) }

// The master.
type (
	// SessionUp says that there is a session with the master. The inventory has everything except
	// what this core knows. Everything that the kernel has noted was reported before ([Told]).
	SessionUp struct {
		Session   Session
		Inventory wire.Inventory
	}
	// SessionLost says that the session has ended.
	SessionLost struct{}
	// FromMaster is a message on the control stream; Number is that of the call that it answers.
	FromMaster struct {
		Number  uint64
		Message wire.Message
	}
	// Served says that the master has sent something in this session, other than [Launch]: so it
	// has the inventory.
	Served struct{}
	// Heard says when something last came over the link, and what the link's lease is. It comes
	// before a session and several times a second.
	Heard struct {
		At    time.Time
		Lease time.Duration
	}
)

func (in SessionUp) apply(c *Core)  { c.sessionUp(in) }
func (SessionLost) apply(c *Core)   { c.session, c.lease.served = 0, false }
func (Served) apply(c *Core)        { c.isServed() }
func (in FromMaster) apply(c *Core) { c.fromMaster(in.Number, in.Message) }
func (in Heard) apply(c *Core)      { c.hear(in) }

// Processes.
type (
	// Told has events for the front end, in order and with their numbers, and what is known of each
	// event's process after it. All of the kernel's records before Position led to nothing else.
	// There may be no events.
	Told struct {
		Events   wire.Events
		States   []Known
		Position uint64
	}
	// Wanted says that [Launch] follows, when init can no longer miss the outputs of Wanted.
	Wanted struct{ PID wire.PID }
	// Launch is a process that the front end asks for in a session. If it must be started, [Start]
	// follows.
	Launch struct {
		Session Session
		Spawn   *wire.Spawn
	}
	// Unasked says that a former daemon did not ask init for the process after all.
	Unasked struct{ PID wire.PID }
	// Spawned says that a process that init was asked for runs.
	Spawned struct{ PID wire.PID }
	// Reaped says that init has reaped such a process, or could not start it.
	Reaped struct{ PID wire.PID }
	// Found says, once, which launches, and which processes that the front end has started, init
	// has from a former daemon.
	Found struct{ PIDs, Starting []wire.PID }
	// EndAll asks for the end of all processes.
	EndAll struct{}
)

func (in Told) apply(c *Core)    { c.tell(in) }
func (in Wanted) apply(c *Core)  { c.wanted(in.PID) }
func (in Launch) apply(c *Core)  { c.launch(in) }
func (in Unasked) apply(c *Core) { c.unasked(in.PID) }
func (in Spawned) apply(c *Core) { c.launched[in.PID] = true }
func (in Reaped) apply(c *Core)  { c.reaped(in.PID) }
func (in Found) apply(c *Core)   { c.takeOver(in) }
func (EndAll) apply(c *Core)     { c.killAll(false) }

// Signals.
type (
	// Signal is a signal of the front end. Meant says that its number has not passed to another
	// process since the front end had handled the events up to Seen. Late are the processes that a
	// signal for a group has missed because they were born too late to have ghosts.
	Signal struct {
		Signal *wire.Signal
		Meant  bool
		Late   []wire.PID
	}
	// FoundLate answers [LookForLate], for each process in turn. All says that all processes were
	// held.
	FoundLate struct {
		Late      [][]Born
		Held, All bool
	}
	// News comes a moment after [Soon].
	News struct{}
)

func (in Signal) apply(c *Core)    { c.signal(in) }
func (in FoundLate) apply(c *Core) { c.foundLate(in) }
func (News) apply(c *Core)         { c.news() }

// Everything else.
type (
	// Call is a system call that the front end must carry out, with a unique number. [Returned]
	// answers it.
	Call struct {
		Number uint64
		Call   *wire.Call
	}
	// CallLeft says that no caller waits for the answer any more.
	CallLeft struct{ Number uint64 }
	// Blocks says which blocks this node has.
	Blocks struct{ Blocks []wire.Block }
	// JournalGrown says, after [Append], that the journal is worth writing anew.
	JournalGrown struct{}
	// JournalRewritten says that [Rewrite] is done.
	JournalRewritten struct{}
)

func (in Call) apply(c *Core) {
	c.calls[in.Number] = in.Call
	c.say(in.Number, in.Call)
}

func (in CallLeft) apply(c *Core)      { delete(c.calls, in.Number) }
func (in Blocks) apply(c *Core)        { c.haveBlocks(in.Blocks) }
func (JournalGrown) apply(c *Core)     { c.rewrite() }
func (JournalRewritten) apply(c *Core) { c.events.confirmed = 0 }
