package core

import (
	"bytes"
	"slices"

	"bproc/wire"
)

// maxAnswers bounds the signal calls that are remembered for each node. A node asks again if its
// daemon has died with an answer. It then gets the remembered answer, and the signal is not sent
// twice.
const maxAnswers = 1024

// answers are the remembered calls of a node, the oldest first.
type answers struct {
	calls map[uint64]*call // by number
	order []uint64
}

// enter enters a call that is being carried out.
func (a *answers) enter(k *call) {
	if a.calls == nil {
		a.calls = map[uint64]*call{}
	}
	if a.calls[k.number] == nil {
		a.order = append(a.order, k.number)
	}
	a.calls[k.number] = k
	if len(a.order) > maxAnswers {
		delete(a.calls, a.order[0])
		a.order = slices.Delete(a.order, 0, 1)
	}
}

// again reports whether a call was entered before. If so, this session gets its answer.
func (a *answers) again(c *Core, s *session, number uint64, m *wire.Call) bool {
	k := a.calls[number]
	if k == nil || k.s == s || k.caller != m.Caller || k.op != m.Op || !slices.Equal(k.args, m.Args) || !bytes.Equal(k.info, m.Info) {
		return false
	}
	k.s = s
	if k.returned != nil {
		c.reply(s, number, k.returned)
	} else {
		s.calling++ // the call is under way
	}
	return true
}

// over detaches the answered calls from a session that ends.
func (a *answers) over(s *session) {
	left := s.left()
	for _, k := range a.calls {
		if k.s == s && k.returned != nil {
			k.s = left
		}
	}
}

// left returns an ended session of the same node, for answered calls: they do not keep the session
// itself in memory, with everything that waits in it.
func (s *session) left() *session { return &session{node: s.node, ended: true} }

// answersOf returns the calls of a node.
func (c *Core) answersOf(id wire.NodeID) *answers {
	a := c.answers[id]
	if a == nil {
		a = new(answers)
		c.answers[id] = a
	}
	return a
}
