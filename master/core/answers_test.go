package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bproc/wire"
)

// TestAnswersAreRepeated asks again for calls in another session. Only a call that is the same in
// everything is the same call.
func TestAnswersAreRepeated(t *testing.T) {
	const number = 7
	for _, tc := range []struct {
		name     string
		call     wire.Call
		number   uint64
		same     bool // session
		returned bool
		again    bool
	}{
		{name: "answered", call: wire.Call{Caller: 5, Op: wire.CallKill, Args: []int64{6, 15}}, number: number, returned: true, again: true},
		{name: "under way", call: wire.Call{Caller: 5, Op: wire.CallKill, Args: []int64{6, 15}}, number: number, again: true},
		{name: "the same session", call: wire.Call{Caller: 5, Op: wire.CallKill, Args: []int64{6, 15}}, number: number, same: true, returned: true},
		{name: "another number", call: wire.Call{Caller: 5, Op: wire.CallKill, Args: []int64{6, 15}}, number: number + 1, returned: true},
		{name: "another caller", call: wire.Call{Caller: 4, Op: wire.CallKill, Args: []int64{6, 15}}, number: number, returned: true},
		{name: "another call", call: wire.Call{Caller: 5, Op: wire.CallTgkill, Args: []int64{6, 15}}, number: number, returned: true},
		{name: "other arguments", call: wire.Call{Caller: 5, Op: wire.CallKill, Args: []int64{6, 9}}, number: number, returned: true},
		{name: "other information", call: wire.Call{Caller: 5, Op: wire.CallKill, Args: []int64{6, 15}, Info: []byte{1}}, number: number, returned: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c Core
			before, after := &session{id: 1}, &session{id: 2}
			if tc.same {
				after = before
			}
			var a answers
			k := &call{s: before, number: number, caller: 5, op: wire.CallKill, args: []int64{6, 15}}
			a.enter(k)
			if tc.returned {
				k.returned = new(wire.Return)
			}
			if got := a.again(&c, after, tc.number, &tc.call); got != tc.again {
				t.Fatalf("it is one that was entered: %v, want %v", got, tc.again)
			}
			var want []uint64
			if tc.again && tc.returned {
				want = []uint64{number}
			}
			var got []uint64
			for _, o := range c.out {
				got = append(got, o.(ToNode).Number)
			}
			if !slices.Equal(got, want) {
				t.Errorf("answered %v, want %v", got, want)
			}
			if underWay := tc.again && !tc.returned; underWay != (after.calling == 1) || underWay && k.s != after {
				t.Errorf("%d calls under way, answered to the right session: %v", after.calling, k.s == after)
			}
		})
	}
}

// TestAnswersLeave ends a session with calls that were answered, and one that is answered
// afterwards.
func TestAnswersLeave(t *testing.T) {
	var c Core
	s := &session{node: 7}
	var a answers
	calls := make([]*call, 3)
	for i := range calls {
		calls[i] = &call{s: s, number: uint64(i)}
		a.enter(calls[i])
	}
	c.answer(calls[0], 5, 0)
	s.ended = true
	a.over(s)
	if calls[1].s != s || calls[2].s != s {
		t.Error("a call that is under way has left its session")
	}
	c.fails(calls[1], 1)
	for i, k := range calls[:2] {
		if k.s == s || k.s.node != 7 || k.returned == nil {
			t.Errorf("call %d, answered by %+v, is of session %+v", i, k.returned, k.s)
		}
	}
	after := &session{node: 7}
	if !a.again(&c, after, 0, new(wire.Call)) || calls[0].s != after || calls[0].returned.Value != 5 {
		t.Errorf("asked again: answered by %+v, of %+v", calls[0].returned, calls[0].s)
	}
}

// TestAnswersOfDeadNode checks that answers are forgotten when all processes of a node have ended.
func TestAnswersOfDeadNode(t *testing.T) {
	s := newScript(t)
	for _, line := range []string{"node 0", "up s0 0"} {
		words := strings.Fields(line)
		s.input(words[0], words[1:])
	}
	for n := range uint64(3) {
		s.core.answersOf(0).enter(&call{number: n, s: s.session("s0")})
	}
	s.fromNode(s.session("s0"), 0, &wire.Leaving{Empty: true})
	if len(s.core.answers) != 0 {
		t.Errorf("answers are kept for %d nodes", len(s.core.answers))
	}
}

// TestAnswersAreBounded enters more calls than are remembered, and some of them twice.
func TestAnswersAreBounded(t *testing.T) {
	var a answers
	for n := range uint64(2 * maxAnswers) {
		for range 1 + n%2 {
			a.enter(&call{number: n, s: new(session)})
		}
	}
	if len(a.calls) != maxAnswers || len(a.order) != maxAnswers {
		t.Errorf("%d calls, in order %d, want %d", len(a.calls), len(a.order), maxAnswers)
	}
	for _, n := range []uint64{0, maxAnswers - 1, maxAnswers, 2*maxAnswers - 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got, want := a.again(new(Core), new(session), n, new(wire.Call)), n >= maxAnswers; got != want {
				t.Errorf("it is known: %v, want %v", got, want)
			}
		})
	}
}
