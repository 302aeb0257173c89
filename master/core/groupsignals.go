package core

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"bproc/wire"
)

// groupCall is a kill(2) of a remote process for a whole group, or for all, by
// which the signals that it makes are known: they come from the sender's ghost.
type groupCall struct {
	sender wire.PID
	signal uint32
}

// underWay says how far such calls are.
type underWay struct {
	calls int // without an answer
	ticks int // since the last answer
}

// afterCall is for how many ticks signals are still taken for those of a call
// that has been answered: ghosts that other threads of the keeper hold may be
// reported after it.
const afterCall = 2

// toGroup notes a signal that a process sends by its ghost; nil: it is not for a group.
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
		if u != nil && u.calls == 0 { // what comes now is for one process
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

// answered says that one of the calls was answered.
func (u *underWay) answered() {
	if u != nil {
		u.calls, u.ticks = u.calls-1, 0
	}
}

// forgetCalls forgets the calls whose signals have all come by now.
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

// forGroup marks a signal that was sent to all of p's group, with the number of
// the last event whose ghosts have got it as well: a child of p that was born
// later was not there to get it, and its node sees to that. Such are those that
// the kernel sends itself, for a terminal (Ctrl-C, Ctrl-Z, hang-up), and those of
// a remote process's kill. Nobody's SIGKILL is told by whom it was sent; the
// ghosts that it has hit cannot have children any more, see forked.
func (c *Core) forGroup(p *proc, sig *wire.Signal) {
	const siUser, siKernel = 0, 0x80 // sigaction(2)
	if p.sess == nil || p.sess.ended || len(sig.Info) < sizeofSiginfo {
		return
	}
	number := binary.LittleEndian.Uint32(sig.Info[0:])
	code := binary.LittleEndian.Uint32(sig.Info[8:])
	sender := wire.PID(binary.LittleEndian.Uint32(sig.Info[16:]))
	if unix.Signal(number) == unix.SIGKILL {
		return
	}
	if code == siKernel || code == siUser && c.groupCalls[groupCall{sender, number}] != nil {
		sig.Group, sig.Seen = true, p.sess.seen(p.pid)
	}
}

// seen returns the last event before the first birth by pid that waits for its
// ghost.
func (s *session) seen(pid wire.PID) uint64 {
	for _, e := range s.pending {
		if e.birth != nil && e.birth.Parent == pid && !e.done {
			return e.event - 1
		}
	}
	return s.last
}
