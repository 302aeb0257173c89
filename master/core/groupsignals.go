package core

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// groupCall identifies the signals of a kill(2) of a remote process for a whole group, or for all
// processes: they come from the sender's ghost.
type groupCall struct {
	sender wire.PID
	signal uint32
}

// underWay is the progress of such calls.
type underWay struct {
	calls int // calls without an answer
	ticks int // ticks since the last answer
}

// afterCall is for how many ticks after the answer to a call signals still count as the call's:
// ghosts of the keeper's other threads may be reported after the answer.
const afterCall = 2

// toGroup notes a signal that a process sends by its ghost; nil: the signal is not for a group.
func (c *Core) toGroup(k *call) *underWay {
	if k.op != wire.CallKill {
		return nil
	}
	key := groupCall{k.caller, uint32(k.args[1])}
	if key.signal == 0 || key.signal > 64 {
		return nil
	}
	u := c.groupCalls[key]
	if k.pid(0) > 0 {
		if u != nil && u.calls == 0 { // signals that come now are for one process
			delete(c.groupCalls, key)
		}
		return nil
	}
	if u == nil {
		u = new(underWay)
		c.groupCalls[key] = u
	}
	u.calls++
	return u
}

// answered notes that one of the calls was answered.
func (u *underWay) answered() {
	if u != nil {
		u.calls, u.ticks = u.calls-1, 0
	}
}

// forgetCalls forgets the calls whose signals must all have come by now.
func (c *Core) forgetCalls() {
	for key, u := range c.groupCalls {
		if u.calls > 0 {
			continue
		}
		if u.ticks++; u.ticks > afterCall {
			delete(c.groupCalls, key)
		}
	}
}

// forGroup marks a signal that was sent to all of p's group with the number of the last event whose
// ghosts have got it, too. A child of p that was born later was not there to get it, so the node
// passes it on. Such signals are those that the kernel sends for a terminal (Ctrl-C, Ctrl-Z,
// hang-up), those of a remote process's kill, and those that the keeper knows to be. The sender of a
// SIGKILL is not known; the ghosts that it has hit cannot have children any more, see forked.
func (c *Core) forGroup(p *proc, sig *wire.Signal, known bool) {
	const siUser, siKernel = 0, 0x80 // sigaction(2)
	if p.sess == nil || p.sess.ended || len(sig.Info) < wire.SizeofSiginfo {
		return
	}
	number := binary.LittleEndian.Uint32(sig.Info[0:])
	code := binary.LittleEndian.Uint32(sig.Info[8:])
	sender := wire.PID(binary.LittleEndian.Uint32(sig.Info[16:]))
	if unix.Signal(number) == unix.SIGKILL {
		return
	}
	if known || code == siKernel || code == siUser && c.groupCalls[groupCall{sender, number}] != nil {
		sig.Group, sig.Seen = true, p.sess.seen(p)
	}
}

// seen returns the last event before the first birth by p whose ghost has yet to be made, or before that of the next
// process with its number.
func (s *session) seen(p *proc) uint64 {
	for _, e := range s.pending {
		if e.birth == nil || e.done {
			continue
		}
		if b := e.birth; b.Parent == p.pid || b.Child == p.pid && !p.is(b.Birth) {
			return e.event - 1
		}
	}
	return s.last
}
