package core

import (
	"encoding/binary"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/internal/unacked"
	"bproc/wire"
)

// signals records which signals of the front end processes were given. The front end repeats
// signals that it does not know to have been given.
type signals struct {
	given unacked.Marks       // of at most maxLast processes
	marks map[wire.PID]uint64 // to be reported
	soon  bool                // News will come
}

const maxLast = 10_000

// maxMarks bounds the marks of one message, far below what a frame can hold.
const maxMarks = 10_000

// signal gives a signal to its process, once, and to processes that were born too late to have a
// ghost when a signal to a group was sent on the front end (groupsignals.go). The front end can be
// so far behind that the process has ended and its number has passed to another.
func (c *Core) signal(in Signal) {
	m := in.Signal
	if c.signals.fresh(m) {
		switch {
		case m.Group && isKill(m):
			c.pursue(m)
		case in.Meant:
			c.giveLate(in)
			c.emit(Give{m})
		default:
			c.giveLate(in)
		}
	}
	c.given(m)
}

// isKill reports whether a signal is SIGKILL.
func isKill(m *wire.Signal) bool {
	return len(m.Info) >= 4 && unix.Signal(binary.LittleEndian.Uint32(m.Info)) == unix.SIGKILL
}

// fresh reports whether a signal has not been given yet. Nothing waits for the marks of another boot of the
// front end.
func (s *signals) fresh(m *wire.Signal) bool {
	if s.given.SetBoot(m.Boot, m.Seq) {
		clear(s.marks)
	}
	return !s.given.Had(m.PID, m.Boot, m.Seq)
}

// given has the front end told that a signal was given, now or before.
func (c *Core) given(m *wire.Signal) {
	s := &c.signals
	if m.Seq == 0 {
		return
	}
	if s.given.Len() == maxLast {
		s.given.Clear() // init has them, too, for processes that live
	}
	s.marks[m.PID] = s.given.Set(m.PID, m.Boot, m.Seq)
	if !s.soon {
		s.soon = true
		c.emit(Soon{})
	}
}

// news reports the signals that were given.
func (c *Core) news() {
	s := &c.signals
	s.soon = false
	var all []wire.Mark
	for _, pid := range slices.Sorted(maps.Keys(s.marks)) {
		all = append(all, wire.Mark{PID: pid, Seq: s.marks[pid]})
	}
	clear(s.marks)
	for part := range slices.Chunk(all, maxMarks) {
		c.say(0, &wire.SignalsTaken{Marks: part, Boot: s.given.Boot()})
	}
}
