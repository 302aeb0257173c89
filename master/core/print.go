package core

import (
	"fmt"
	"strings"
)

var stateNames = map[procState]string{adopting: "adopting", spawning: "spawning", forking: "forking", running: "running", ending: "ending"}

// String describes a process with all that waits in it.
func (p *proc) String() string {
	text := fmt.Sprintf("%d (birth %d) on node %d %s", p.pid, p.birth, p.node, stateNames[p.state])
	for _, is := range []struct {
		so   bool
		text string
	}{
		{!p.ghost, "no ghost"},
		{p.settling, "settling"},
		{p.killed, "killed"},
		{p.sess == nil || p.sess.ended, "no session"},
		{p.former != nil, "its number is another's still"},
		{p.launch != nil, "launch"},
		{p.sending, "sending"},
		{p.hearing, "hearing"},
	} {
		if is.so {
			text += ", " + is.text
		}
	}
	for _, n := range []struct {
		count int
		what  string
	}{
		{p.blockers, "blockers"},
		{len(p.waiting), "requests that wait"},
		{len(p.after), "that wait for its end"},
		{p.signals.Len(), "signals kept"},
		{len(p.rivals), "rivals"},
		{p.shifting, "stops under way"},
	} {
		if n.count > 0 {
			text += fmt.Sprintf(", %d %s", n.count, n.what)
		}
	}
	return text
}

// String describes what the core has and what waits in it, one item a line, for debugging.
func (c *Core) String() string {
	var b strings.Builder
	for _, n := range c.nodes.sorted() {
		fmt.Fprintf(&b, "node %d %s, %d processes", n.ID, n.shown(), n.procs)
		if s := n.sess; s != nil {
			fmt.Fprintf(&b, ", session %d: event %d, placed %d, certain %d, %d calls", s.id, s.last, s.placed, s.acks.certain(), s.calling)
			if len(s.strangers) > 0 {
				fmt.Fprintf(&b, ", %d strangers", len(s.strangers))
			}
		}
		b.WriteByte('\n')
	}
	for _, pid := range inOrder(c.procs) {
		for p := c.procs[pid]; p != nil; p = p.former {
			fmt.Fprintln(&b, p)
		}
	}
	for _, number := range inOrder(c.asked) {
		fmt.Fprintf(&b, "request %d to the keeper: %T\n", number, c.asked[number])
	}
	for _, number := range inOrder(c.asks) {
		fmt.Fprintf(&b, "question %d to the kernel: %T\n", number, c.asks[number])
	}
	fmt.Fprintf(&b, "%d orphans, %d launches delayed, %d series to be repeated, %d clients absent, %d reports\n", len(c.orphans), len(c.delayed), len(c.again), len(c.absent), len(c.reports))
	return b.String()
}
