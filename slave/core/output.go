package core

import (
	"time"

	"bproc/wire"
)

// Output is something that the daemon must do. Outputs are carried out in order.
type Output interface{ output() }

// The master.
type (
	// OpenSession begins the control stream of a session. What waits to be sent on a former one is
	// dropped.
	OpenSession struct{}
	// ToMaster sends a message on the control stream; Number is that of a call, or 0.
	ToMaster struct {
		Number  uint64
		Message wire.Message
	}
	// Renumber gives these events the numbers from 1. The numbers of later events follow.
	Renumber struct{ Again []wire.Event }
	// Returned answers [Call].
	Returned struct {
		Number uint64
		Return *wire.Return
	}
)

// The process space.
type (
	// Hold holds all processes, LetGo lets them go on, unless others want them held.
	Hold  struct{}
	LetGo struct{}
	// KillAll kills all processes, held or not. Surely: if init does not do it, the space must end.
	KillAll struct{ Surely bool }
	// Deadline has init kill all processes by itself at a time, unless it is told another time
	// before.
	Deadline struct{ At time.Time }
	// Start enters a process that init will be asked for next.
	Start struct{ Process Known }
	// Resume enters a process that a former daemon has started, with its parent and the session in
	// which it began.
	Resume struct{ PID, Parent, Began wire.PID }
	// TakenOver sorts the launches of a former daemon. Running have led to processes, and init has
	// reported nothing else of them. Unsure may not have been passed to init.
	TakenOver struct{ Running, Unsure []wire.PID }
	// SetParent sets the parent that a process started from the front end sees.
	SetParent struct{ PID, Parent wire.PID }
	// Forget says that the front end knows that processes that it has started have ended, or could
	// not be started: init need not keep how they ended.
	Forget struct{ PIDs []wire.PID }
)

// Signals.
type (
	// Give gives a process a signal.
	Give struct{ Signal *wire.Signal }
	// Kill kills a process that is held.
	Kill struct{ PID wire.PID }
	// LookForLate asks for the processes All, which have no ghosts, and for their descendants in
	// their groups, as far as they live ([FoundLate]). Held: all processes must be held before, as
	// by Hold.
	LookForLate struct {
		All  []Pursued
		Held bool
	}
	// Soon asks for [News] a moment later.
	Soon struct{}
)

// The journal.
type (
	// Append appends records, which take effect all at once. [JournalGrown] follows if the journal
	// is worth writing anew. The records then take effect when that is done.
	Append struct{ Records []Record }
	// Rewrite replaces all records. If that succeeds, [JournalRewritten] follows.
	Rewrite struct{ Records []Record }
	// Confirm keeps a number beside the records. Rewrite resets it to 0.
	Confirm struct{ Count uint64 }
)

// Log is a line of the log: a text, and names with values.
type Log struct {
	Level Level
	Text  string
	Args  []any
}

func (OpenSession) output() {}
func (ToMaster) output()    {}
func (Renumber) output()    {}
func (Returned) output()    {}
func (Hold) output()        {}
func (LetGo) output()       {}
func (KillAll) output()     {}
func (Deadline) output()    {}
func (SetParent) output()   {}
func (Forget) output()      {}
func (Start) output()       {}
func (Resume) output()      {}
func (TakenOver) output()   {}
func (Give) output()        {}
func (Kill) output()        {}
func (LookForLate) output() {}
func (Soon) output()        {}
func (Append) output()      {}
func (Rewrite) output()     {}
func (Confirm) output()     {}
func (Log) output()         {}
