package core

import (
	"bytes"
	"slices"

	"bproc/wire"
)

// maxAnswers is how many of the last signals that a node's processes have sent are
// known, so that a node that asks again for one, since its daemon has died with the
// answer, is answered and nothing is sent twice.
const maxAnswers = 1024

// answers are those calls of a node, the oldest first.
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

// again reports whether a call is one that was entered, and sees to its answer.
func (a *answers) again(c *Core, s *session, number uint64, m *wire.Call) bool {
	k := a.calls[number]
	if k == nil || k.s == s || k.caller != m.Caller || k.op != m.Op || !slices.Equal(k.args, m.Args) || !bytes.Equal(k.info, m.Info) {
		return false
	}
	k.s = s
	if k.returned != nil {
		c.reply(s, number, k.returned)
	} else {
		s.calling++ // it is under way
	}
	return true
}

// over is for the end of a session.
func (a *answers) over(s *session) {
	left := s.left()
	for _, k := range a.calls {
		if k.s == s && k.returned != nil {
			k.s = left
		}
	}
}

// left is a session that has ended, for calls that were answered: they do not keep the session itself, with
// all that is waiting there.
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
