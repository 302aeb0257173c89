package core

import (
	"slices"

	"bproc/wire"
)

// Signals for process groups are also for processes that were born too late to have a ghost when
// the signal was sent on the front end.
//
// Processes known to have missed a signal when it arrives get it together with the ancestor that
// had a ghost. SIGKILL comes with the number of a process whose ghost could not be made, and is
// given to all processes that are born until it has arrived: a killed process does not fork any
// more. Some fork and end faster than they can be killed one by one, so all processes are held for
// that. For other signals that would be wrong: a process that has received one may well go on, and
// have children that the signal is not for.

// Born is a process: its number, which other processes may have had or may get, and its birth.
type Born struct {
	PID   wire.PID
	Birth uint64 // as in wire.Event
}

// Pursued is a process without a ghost: its number, and the event of its birth.
type Pursued struct {
	PID   wire.PID
	Event uint64
}

// pursuit is a SIGKILL that has not reached all processes that it is for.
type pursuit struct {
	of     Pursued
	rounds int
	had    map[Born]bool // processes that got it
}

// Bounds on pursuits. One round is enough if all processes were held. A process that could not be
// held may have been about to fork.
const (
	maxPursuits = 10_000
	maxRounds   = 16
)

// giveLate gives a signal to the processes that have missed it.
func (c *Core) giveLate(in Signal) {
	for _, pid := range in.Late {
		c.emit(Give{&wire.Signal{PID: pid, Info: in.Signal.Info}})
	}
}

// pursue begins a pursuit.
func (c *Core) pursue(m *wire.Signal) {
	if len(c.pursuits)+len(c.pursued) < maxPursuits {
		c.pursuits = append(c.pursuits, &pursuit{of: Pursued{m.PID, m.Seen + 1}, had: map[Born]bool{}})
	}
	c.lookForLate()
}

// lookForLate starts the first look for pursuits that have begun meanwhile.
func (c *Core) lookForLate() {
	if len(c.pursued) > 0 || len(c.pursuits) == 0 {
		return
	}
	c.pursued, c.pursuits = c.pursuits, nil
	c.emit(LookForLate{All: c.lookedFor()})
}

func (c *Core) lookedFor() (all []Pursued) {
	for _, p := range c.pursued {
		all = append(all, p.of)
	}
	return all
}

// foundLate takes in which processes are late. If there are any, all processes are held for the
// next look. If not all could be held, another process may have been born, and the pursuit goes on.
func (c *Core) foundLate(in FoundLate) {
	missed := make([][]Born, len(c.pursued))
	for i, p := range c.pursued {
		if i < len(in.Late) {
			missed[i] = slices.DeleteFunc(slices.Clone(in.Late[i]), func(b Born) bool { return p.had[b] })
		}
	}
	if in.Held {
		c.kill(missed, in.All)
		c.emit(LetGo{})
		c.pursued = nil
		c.lookForLate()
		return
	}
	rest := c.pursued[:0]
	for i, p := range c.pursued {
		if len(missed[i]) > 0 {
			rest = append(rest, p)
		}
	}
	if c.pursued = rest; len(rest) == 0 {
		c.lookForLate()
		return
	}
	c.emit(LookForLate{All: c.lookedFor(), Held: true})
}

// kill kills processes that are held, each once.
func (c *Core) kill(missed [][]Born, all bool) {
	killed := map[Born]bool{}
	for i, p := range c.pursued {
		for _, born := range missed[i] {
			p.had[born] = true
			if !killed[born] {
				killed[born] = true
				c.emit(Kill{born.PID})
			}
		}
		if p.rounds++; !all && p.rounds < maxRounds {
			c.pursuits = append(c.pursuits, p)
		}
	}
}
