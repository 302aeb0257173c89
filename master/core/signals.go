package core

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"bproc/internal/unacked"
	"bproc/wire"
)

// maxHeld bounds the signals that are kept for one process; the keeper has the same
// bound.
const maxHeld = 4096

// maxMarks is the number of marks that the keeper is told at once; fewer are sent soon.
const maxMarks = 256

// signals are the signals for one process, in order. A signal that the keeper numbers is kept until
// the node says that the process has it, any other until it has been sent.
type signals struct {
	unacked.Queue[*wire.Signal]

	last uint64 // number that the keeper gave last
	told uint64 // number up to which the keeper was told that the process has them
}

// add takes a signal in. Beyond the bound it drops the oldest signal that is not SIGKILL.
func (q *signals) add(m *wire.Signal) {
	if q.Len() >= maxHeld {
		q.DropOldest(func(m *wire.Signal) bool { return !kills(m) })
	}
	q.Add(m.Seq, m)
}

// repeated reports whether the keeper has reported a signal before.
func (q *signals) repeated(seq uint64) bool {
	if seq != 0 && seq <= q.last {
		return true
	}
	q.last = max(q.last, seq)
	return false
}

// renew begins another session.
func (q *signals) renew() {
	q.Again()
	for _, m := range q.All() {
		m.Group, m.Seen = false, 0 // these refer to events of the former session
	}
}

func numberOf(info []byte) unix.Signal { return unix.Signal(binary.LittleEndian.Uint32(info)) }

func kills(m *wire.Signal) bool { return numberOf(m.Info) == unix.SIGKILL }

func stops(m *wire.Signal) bool { return numberOf(m.Info) == unix.SIGSTOP }

func continues(m *wire.Signal) bool { return numberOf(m.Info) == unix.SIGCONT }

// send sends a signal to a process, as soon as there are the process and a session with its node. One
// for the group of a process that has ended is for its children without ghosts.
func (c *Core) send(p *proc, m *wire.Signal) {
	if p.state == ending {
		p.killed = p.killed || kills(m)
		if m.Group {
			c.signalNode(p.sess, m)
		}
		return
	}
	p.signals.add(m)
	c.release(p)
}

// release sends the signals that wait for a process.
func (c *Core) release(p *proc) {
	if p.state == adopting || p.state == spawning || p.state == ending || p.sess.ended {
		return
	}
	for m, ok := p.signals.Next(); ok; m, ok = p.signals.Next() {
		p.killed = p.killed || kills(m)
		c.signalNode(p.sess, m)
	}
}

// kill ends a process as kill -9 does.
func (c *Core) kill(p *proc) {
	c.send(p, &wire.Signal{PID: p.pid, Info: wire.KernelSignal(unix.SIGKILL)})
}

// signal passes on a signal that a ghost got.
func (c *Core) signal(m *wire.GhostSignal) {
	sig := &wire.Signal{PID: m.PID, Info: m.Info, Seq: m.Seq, Boot: c.boot}
	if p := c.procs[m.PID]; p != nil {
		p = p.oldest() // whose ghost it is
		if !p.signals.repeated(m.Seq) {
			if continues(sig) {
				p.halted, p.conts = false, p.conts+1 // the kernel has continued the ghost
			}
			c.forGroup(p, sig, m.Group)
			c.send(p, sig)
		}
	} else if o := c.orphans[m.PID]; o != nil && !o.signals.repeated(m.Seq) {
		o.signals.add(sig)
	}
}

// signalsTaken tells the keeper which signals processes have got, once for each signal that the keeper
// has reported. A node that has outlived the front end may report signals of a former boot.
func (c *Core) signalsTaken(s *session, m *wire.SignalsTaken) {
	if m.Boot != c.boot && m.Boot != 0 { // 0: the node does not say
		return
	}
	for _, mark := range m.Marks {
		if p := c.procs[mark.PID]; p != nil && p.sess == s {
			p.signals.Acknowledge(mark.Seq)
			if mark.Seq > p.signals.told && mark.Seq <= p.signals.last {
				p.signals.told = mark.Seq
				c.marks = append(c.marks, mark)
			}
		}
	}
	if len(c.marks) >= maxMarks {
		c.tellMarks()
	}
}

func (c *Core) tellMarks() {
	if len(c.marks) > 0 {
		c.tell(&wire.GhostTaken{Marks: slices.Clone(c.marks)})
		c.marks = c.marks[:0]
	}
}
