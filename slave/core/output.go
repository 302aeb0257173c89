package core

import (
	"time"

	"bproc/wire"
)

// Output is something that the daemon is to do. Outputs are done in order.
type Output interface{ output() }

// The master.
type (
	// OpenSession begins with the control stream of a session; what is yet to be sent on a former
	// one is not.
	OpenSession struct{}
	// ToMaster sends a message on the control stream; Number is that of a call, or 0.
	ToMaster struct {
		Number  uint64
		Message wire.Message
	}
	// Renumber gives these events the numbers from 1, and those that are told next follow.
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
	// KillAll kills all processes, whether they are held or not; surely: if init does not do it
	// the space is to end.
	KillAll struct{ Surely bool }
	// Deadline has init do so by itself at a time, unless it is told of another one.
	Deadline struct{ At time.Time }
	// Start enters a process that init is to be asked for next.
	Start struct{ Process Known }
	// Resume enters a process that a former daemon has started: its parent, and the session in which
	// it began.
	Resume struct{ PID, Parent, Began wire.PID }
	// TakenOver says which launches of a former daemon have led to processes, which init has told
	// only that, and which init may not have been asked for.
	TakenOver struct{ Running, Unsure []wire.PID }
	// SetParent says what parent a process sees that the front end has started.
	SetParent struct{ PID, Parent wire.PID }
	// Forget says that the front end knows of the ends of processes that it has started, or that
	// they could not be: init need not keep how they ended.
	Forget struct{ PIDs []wire.PID }
)

// Signals.
type (
	// Give gives a process a signal.
	Give struct{ Signal *wire.Signal }
	// Kill kills a process that is held.
	Kill struct{ PID wire.PID }
	// LookForLate wants to know who descends from processes without a ghost and is in their groups,
	// and them, as long as they live ([FoundLate]). Held: all processes are held before, as by Hold.
	LookForLate struct {
		All  []Pursued
		Held bool
	}
	// Soon wants [News] within a moment.
	Soon struct{}
)

// The journal.
type (
	// Append appends records, which hold all at once. It is followed by [JournalGrown] if the
	// journal is worth writing anew; the records hold then when that is done.
	Append struct{ Records []Record }
	// Rewrite puts records in the place of all that there are. If that can be done it is followed by
	// [JournalRewritten].
	Rewrite struct{ Records []Record }
	// Confirm keeps a number beside the records. Rewrite makes it 0.
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
