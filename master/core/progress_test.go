package core

import (
	"slices"
	"testing"

	"bproc/wire"
)

// TestProgressOfMany has a node report many events at once.
func TestProgressOfMany(t *testing.T) {
	s := newScript(t)
	s.input("node", []string{"0"})
	s.input("up", []string{"s0", "0"})
	m := &wire.Events{First: 1}
	for range 2*progressEvents + 500 {
		m.Events = append(m.Events, wire.Event{Kind: wire.EventContinued, PID: 4711})
	}
	s.lines = nil
	s.fromNode(s.session("s0"), 0, m)
	m.First += 2*progressEvents + 500
	m.Events = m.Events[:1]
	s.fromNode(s.session("s0"), 0, m)
	s.do(s.core.tellProgress)
	if want := []string{"s0: Progress 2500", "s0: Progress 2501"}; !slices.Equal(s.lines, want) {
		t.Errorf("got %q, want %q", s.lines, want)
	}
}
