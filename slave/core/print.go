package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Size returns how many entries the core keeps for processes, their signals and calls.
func (c *Core) Size() int {
	e := &c.events
	return len(e.known) + len(e.told) + len(c.launched) + len(c.calls) + len(c.signals.marks) + len(c.pursuits) + len(c.pursued)
}

// String describes the state of the core, with one item a line, for debugging.
func (c *Core) String() string {
	var b strings.Builder
	e := &c.events
	fmt.Fprintf(&b, "session %v: event %d, done with %d", c.session, c.backlog.last, c.backlog.done)
	if c.backlog.frozen {
		b.WriteString(", processes are held")
	}
	if c.lease.expired {
		b.WriteString(", the lease has run out")
	}
	fmt.Fprintf(&b, "\nblocks %v, position %d, %d events confirmed\n", e.blocks, e.position, e.confirmed)
	for _, pid := range slices.Sorted(maps.Keys(e.known)) {
		k := e.known[pid]
		fmt.Fprintf(&b, "known: %d (birth %d) of %d", pid, k.Birth, k.Parent)
		if k.Starting {
			b.WriteString(", starting")
		}
		if k.Stop != 0 {
			fmt.Fprintf(&b, ", stopped by %d", k.Stop)
		}
		b.WriteByte('\n')
	}
	for i := range e.told {
		fmt.Fprintf(&b, "told: %d of kind %d of %d (birth %d)\n", e.first+uint64(i), e.told[i].Kind, e.told[i].PID, e.told[i].Birth)
	}
	for _, number := range slices.Sorted(maps.Keys(c.calls)) {
		fmt.Fprintf(&b, "call %d: %d of %d\n", number, c.calls[number].Op, c.calls[number].Caller)
	}
	fmt.Fprintf(&b, "launched: %v\n", slices.Sorted(maps.Keys(c.launched)))
	return b.String()
}
