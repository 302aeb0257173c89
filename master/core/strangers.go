package core

import (
	"bproc/pidmap"
	"bproc/wire"
)

// Strangers are processes that a node comes with and that have no ghost, for instance because the front
// end was booted meanwhile. They are killed. Until the node has reported their ends, a command to which
// the front end has given the number of one waits, and what a stranger does is not taken for the
// command's.

// killStranger kills a process that the node has come with, or says so. A process of another node that
// the node claims is none; but a number for which a user has just asked elsewhere may not even be his.
func (c *Core) killStranger(s *session, pid wire.PID) {
	p, o := c.procs[pid], c.orphans[pid]
	others := p != nil && p.node != s.node && p.state != adopting || o != nil && nodeOf(o.Adopted.Owner) != s.node
	if pid < pidmap.Node && !others {
		s.strangers[pid] = nil
	}
	c.killUnknown(s, pid)
}

// hasStranger reports whether a stranger has a number on the node.
func (s *session) hasStranger(pid wire.PID) bool {
	_, has := s.strangers[pid]
	return has
}

// ofStranger reports whether an event, not a birth, is a stranger's. If it is the end, the command that
// has waited for it is started.
func (c *Core) ofStranger(s *session, e *wire.Event) bool {
	t, is := s.strangers[e.PID]
	if is && (e.Kind == wire.EventExited || e.Kind == wire.EventSpawned && e.Errno != 0) {
		if delete(s.strangers, e.PID); t != nil {
			t.do(c)
		}
	}
	return is
}
