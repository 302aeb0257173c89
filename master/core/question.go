package core

import "bproc/wire"

// Question is something that the kernel of the front end knows.
type Question interface{ question() }

// Questions about processes. Errno says that there is no such process.
type (
	// ParentOf asks for the parent of a process.
	ParentOf struct{ PID wire.PID }
	// GroupOf and SessionOf ask for its process group (getpgid(2)) and session (getsid(2)).
	GroupOf   struct{ PID wire.PID }
	SessionOf struct{ PID wire.PID }
	// Exists asks whether a process exists, or for a negative number a group (kill(2) with signal
	// 0).
	Exists struct{ PID wire.PID }
	// MayJoin asks whether a process may join a group, which must exist in its session
	// (setpgid(2)). Errno is EPERM if not.
	MayJoin struct{ PID, Group wire.PID }
	// Members asks which of some processes are in a group, or in that of a process if Group is 0.
	// PID in the answer is the group.
	Members struct {
		Group wire.PID
		Of    wire.PID
		Among []wire.PID
	}
	// IsRoot asks whether one of a process's users is root (credentials(7)), or cannot be found
	// out.
	IsRoot struct{ PID wire.PID }
	// EndOf asks when a process has ended, or, without Wait, whether it exists.
	EndOf struct {
		PID  wire.PID
		Wait bool
	}
	// FreeNumber asks for a number that the front end's kernel may give, and that no process, group
	// or session has.
	FreeNumber struct{}
	// ParentAfter asks for the parent that a process has after the end of another process, which is
	// about to end.
	ParentAfter struct{ PID, End wire.PID }
)

// Questions about control groups that bound tasks.
type (
	// TaskGroupsOf asks for the groups that bound the tasks of a process, the innermost first.
	// Before that the process enters the group Into, unless it is empty; Text says why it could
	// not.
	TaskGroupsOf struct {
		PID  wire.PID
		Into string
	}
	// CountTasks asks how many tasks groups have. The answer leaves out groups that are gone.
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

// told handles the answer to a question.
type told interface{ told(c *Core, a *Answer) }

// wonder asks the front end's kernel. It returns the number of the question.
func (c *Core) wonder(q Question, then told) uint64 {
	c.number++
	c.asks[c.number] = then
	c.emit(Ask{c.number, q})
	return c.number
}

// kept handles the end of a Keep: the records are on disk, or err says why not.
type kept interface{ kept(c *Core, err error) }

// keep puts records into a table of the store.
func (c *Core) keep(t Table, records map[string][]byte, then kept) {
	c.number++
	c.keeps[c.number] = then
	c.emit(Keep{Number: c.number, Table: t, Records: records})
}

// keepLater is keep for records that nothing else in the core waits for: other inputs may come
// before the answer.
func (c *Core) keepLater(t Table, records map[string][]byte, then kept) {
	c.number++
	c.keeps[c.number] = then
	c.emit(Keep{Number: c.number, Table: t, Records: records, Later: true})
}
