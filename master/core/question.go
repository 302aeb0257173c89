package core

import "bproc/wire"

// Question is something that the kernel of the front end knows.
type Question interface{ question() }

// Questions about processes. Errno says that there is no such process.
type (
	// ParentOf wants the parent of a process.
	ParentOf struct{ PID wire.PID }
	// GroupOf and SessionOf want its process group (getpgid(2)) and session (getsid(2)).
	GroupOf   struct{ PID wire.PID }
	SessionOf struct{ PID wire.PID }
	// Exists wants to know whether there is a process, or with a negative number a group
	// (kill(2) with signal 0).
	Exists struct{ PID wire.PID }
	// MayJoin wants to know whether a process may join a group: setpgid(2) wants that to exist
	// in its session. Errno is EPERM if not.
	MayJoin struct{ PID, Group wire.PID }
	// Members wants those of some processes that are in a group, or in that of a process
	// if Group is 0. PID says which group that is.
	Members struct {
		Group wire.PID
		Of    wire.PID
		Among []wire.PID
	}
	// IsRoot wants to know whether one of a process's users is root (credentials(7)), or
	// nobody knows.
	IsRoot struct{ PID wire.PID }
	// EndOf wants to know when a process has ended, or at once whether there is one.
	EndOf struct {
		PID  wire.PID
		Wait bool
	}
	// FreeNumber wants a number that the front end's kernel may give, and that no process,
	// group or session has.
	FreeNumber struct{}
	// ParentAfter wants the parent that a process has when another one has ended, which it
	// is about to.
	ParentAfter struct{ PID, End wire.PID }
)

// Questions about control groups that bound tasks.
type (
	// TaskGroupsOf wants the groups that bound the tasks of a process, the innermost first.
	// Before that the process enters one, unless that is empty; Text says why it could not.
	TaskGroupsOf struct {
		PID  wire.PID
		Into string
	}
	// CountTasks wants to know how many tasks groups have. One that has gone is left out.
	CountTasks struct{ Paths []string }
)

func (ParentOf) question()     {}
func (GroupOf) question()      {}
func (SessionOf) question()    {}
func (Exists) question()       {}
func (MayJoin) question()      {}
func (Members) question()      {}
func (IsRoot) question()       {}
func (EndOf) question()        {}
func (FreeNumber) question()   {}
func (ParentAfter) question()  {}
func (TaskGroupsOf) question() {}
func (CountTasks) question()   {}

// told is what is done with the answer to a question.
type told interface{ told(c *Core, a *Answer) }

// wonder asks the front end's kernel. It returns the number of the question.
func (c *Core) wonder(q Question, then told) uint64 {
	c.number++
	c.asks[c.number] = then
	c.emit(Ask{c.number, q})
	return c.number
}

// kept is what is done when records are on disk, or cannot be.
type kept interface{ kept(c *Core, err error) }

// keep has records kept.
func (c *Core) keep(t Table, records map[string][]byte, then kept) {
	c.number++
	c.keeps[c.number] = then
	c.emit(Keep{Number: c.number, Table: t, Records: records})
}

// keepLater is keep for what nothing else in the core waits for: other inputs may come before that
// the records are kept.
func (c *Core) keepLater(t Table, records map[string][]byte, then kept) {
	c.number++
	c.keeps[c.number] = then
	c.emit(Keep{Number: c.number, Table: t, Records: records, Later: true})
}
