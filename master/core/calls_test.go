package core

import (
	"slices"
	"testing"
	"time"

	"bproc/wire"
)

// TestCallsAreBounded has a node make more calls than are accepted, while a birth holds all of them
// up.
func TestCallsAreBounded(t *testing.T) {
	s := newScript(t)
	for _, line := range [][]string{
		{"node", "0"},
		{"up", "s0", "0"},
		{"proc", "4711", "parent", "100"},
		{"run", "4711", "0"},
		{"done", "GhostAdopt", "4711"},
		{"events", "s0", "Spawned", "4711;", "Forked", "1048576", "parent", "4711"},
	} {
		s.input(line[0], line[1:])
	}
	sess := s.session("s0")
	s.lines = nil
	for n := range uint64(maxCalls + 2) {
		s.fromNode(sess, n, &wire.Call{Caller: 4711, Op: wire.CallGetppid})
	}
	if want := []string{"s0: Return 10000: EAGAIN", "s0: Return 10001: EAGAIN"}; !slices.Equal(s.lines, want) {
		t.Fatalf("got %q, want %q", s.lines, want)
	}
	if got := s.input("done", []string{"GhostFork", "1048576"}); len(got) != maxCalls+1 || got[0] != "s0: Return 0: 100" || sess.calling != 0 {
		t.Errorf("%d answers, first %q; %d calls left", len(got), got[0], sess.calling)
	}
}

// FuzzCall has a node make any call.
func FuzzCall(f *testing.F) {
	f.Add(int32(4711), uint8(wire.CallKill), []byte{1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 0)
	f.Add(int32(4711), uint8(wire.CallSigqueue), make([]byte, 16), wire.SizeofSiginfo)
	f.Add(int32(1048576), uint8(wire.CallGroup), []byte{0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0xff}, 0)
	f.Add(int32(0), uint8(0), []byte{}, 0)
	f.Fuzz(func(t *testing.T, caller int32, op uint8, args []byte, info int) {
		s := newScript(t)
		for _, line := range [][]string{
			{"node", "0"},
			{"up", "s0", "0"},
			{"proc", "4711", "parent", "100", "pgid", "100", "sid", "50"},
			{"run", "4711", "0"},
			{"done", "GhostAdopt", "4711"},
			{"events", "s0", "Spawned", "4711"},
		} {
			s.input(line[0], line[1:])
		}
		m := &wire.Call{Caller: wire.PID(caller), Op: wire.CallOp(op), Info: make([]byte, max(0, min(info, 1<<16)))}
		for ; len(args) >= 8; args = args[8:] {
			var a int64
			for i := range 8 {
				a |= int64(args[i]) << (8 * i)
			}
			m.Args = append(m.Args, a)
		}
		s.lines = nil
		s.fromNode(s.session("s0"), 1, m)
		// It is answered at once, or when the keeper has answered.
		if len(s.lines) != 1 || s.session("s0").calling != len(s.asked) {
			t.Errorf("%+v: %q", m, s.lines)
		}
	})
}

// BenchmarkCall measures the core's time for a call, with the kernel's answer.
func BenchmarkCall(b *testing.B) {
	core, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	sess := &session{id: 1}
	core.sessions[1] = sess
	core.procs[4711] = &proc{pid: 4711, sess: sess, state: running}
	m := &wire.Call{Caller: 4711, Op: wire.CallGetpgid, Args: []int64{1}}
	for b.Loop() {
		ask := core.Step(time.Time{}, FromNode{1, 1, m})[0].(Ask)
		core.Step(time.Time{}, Answer{Number: ask.Number, PID: 1})
	}
}
