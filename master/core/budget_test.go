package core

import (
	"slices"
	"testing"
)

// TestIdleShares has a user leave nodes for good.
func TestIdleShares(t *testing.T) {
	s := newScript(t)
	for _, line := range [][]string{
		{"node", "0"},
		{"node", "1"},
		{"up", "s0", "0"},
		{"up", "s1", "1"},
		{"proc", "100", "limit", "1000"},
		{"run", "4711", "0"},
		{"run", "4712", "1"},
		{"soon"},
		{"done", "GhostAdopt", "4711", "ESRCH"},
	} {
		s.input(line[0], line[1:])
	}
	for range idleShare {
		s.input("after", []string{"1s"})
	}
	if got := s.input("soon", nil); len(got) != 0 {
		t.Errorf("shares have changed too early: %q", got)
	}
	s.input("after", []string{"1s"})
	if got := s.input("soon", nil); !slices.Equal(got, []string{"s1: Budget of user 1000: 1000"}) {
		t.Errorf("got %q", got)
	}
	s.input("done", []string{"GhostAdopt", "4712", "ESRCH"})
	for range idleShare + 1 {
		s.input("after", []string{"1s"})
	}
	if got := s.input("soon", nil); len(got) != 0 || len(s.core.budgets) != 0 {
		t.Errorf("got %q, and %d budgets are left", got, len(s.core.budgets))
	}
}
