package core

import (
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bproc/pidmap"
	"bproc/wire"
)

// Strangers are processes that a node comes with and that have no ghost, for instance because the front
// end was booted meanwhile. They are killed. Until the node has reported their ends, a command to which
// the front end has given the number of one waits, and what a stranger does is not taken for the
// command's.

// strangerTime is how long a command waits for a stranger: one that hangs in the kernel does not end, and
// a node may say that it has some.
const strangerTime = 30 * time.Second

// maxStrangers is the number of strangers that are killed one by one. A node with more must end all its
// processes: an honest one has so many when it has no others, after a boot of the front end.
const maxStrangers = 1 << 14

// stranger is a process that its node is to end.
type stranger struct {
	waiting *respawn // the command that waits; nil: none
	since   time.Time
}

// killStranger kills a process that the node has come with.
func (c *Core) killStranger(s *session, pid wire.PID) {
	if pid < pidmap.Node {
		s.strangers[pid] = stranger{}
	}
	c.killUnknown(s, pid)
}

// hasStranger reports whether a stranger has a number on the node.
func (s *session) hasStranger(pid wire.PID) bool {
	_, has := s.strangers[pid]
	return has
}

// awaitStranger has a process started when the stranger with its number has ended.
func (c *Core) awaitStranger(p *proc) {
	p.sess.strangers[p.pid] = stranger{&respawn{p, p.sess}, c.clock}
}

// ofStranger reports whether an event, not a birth, is a stranger's. If it is the end, the command that
// has waited for it is started.
func (c *Core) ofStranger(s *session, e *wire.Event) bool {
	t, is := s.strangers[e.PID]
	if is && (e.Kind == wire.EventExited || e.Kind == wire.EventSpawned && e.Errno != 0) {
		if delete(s.strangers, e.PID); t.waiting != nil {
			t.waiting.do(c)
		}
	}
	return is
}

// failWaiting fails the commands that have waited too long for strangers of a node.
func (c *Core) failWaiting(s *session) {
	if len(s.strangers) == 0 {
		return
	}
	for _, pid := range slices.Sorted(maps.Keys(s.strangers)) {
		if t := s.strangers[pid]; t.waiting != nil && c.clock.Sub(t.since) > strangerTime {
			s.strangers[pid] = stranger{}
			if t.waiting.isDue() {
				c.abandonFor(t.waiting.p, wire.StageNode, unix.EAGAIN, "a former process of the node with its number was killed, and has not ended yet")
			}
		}
	}
}

// boundProcesses makes a node end all its processes if it reports more than it can have: those that are known,
// those with its numbers, and some strangers. They are not looked at one by one.
func (c *Core) boundProcesses(s *session) {
	most := len(c.procs) + len(c.orphans) + maxStrangers
	if !s.emptying {
		most += s.numbers + s.numbers/3 // with the gaps (package pidmap)
	}
	inv := &s.inventory
	if len(inv.PIDs) <= most {
		return
	}
	c.log.Warn("node has more processes than it can have; all its processes are killed", "node", s.node, "processes", len(inv.PIDs))
	s.emptying = true
	inv.PIDs, inv.Births, inv.Parents, inv.Starting, inv.Stopped = nil, nil, nil, nil, nil
}
