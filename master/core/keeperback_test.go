package core

import (
	"slices"
	"testing"
)

// TestRepeatsInOrder has a keeper die with requests that it has not answered.
func TestRepeatsInOrder(t *testing.T) {
	s := newScript(t)
	for _, line := range [][]string{
		{"node", "0"},
		{"up", "s0", "0"},
		{"run", "4711", "0"},
		{"done", "GhostAdopt", "4711"},
		{
			"events", "s0", "Spawned", "4711;", "Stopped", "4711", "by", "SIGTSTP;", "Continued", "4711;",
			"Execed", "4711", "argv", "cc", "pgid", "4711", "user", "0/0/0;", "Stopped", "4711", "by", "SIGSTOP",
		},
	} {
		s.input(line[0], line[1:])
	}
	for range 2 {
		s.lines = nil
		s.keeperBack(nil, nil)
		want := []string{
			"keeper: GhostAdopt 4711 parent 0 uid -1",
			"keeper: GhostStop 4711 by SIGTSTP",
			"keeper: GhostSync 4711",
			"keeper: GhostCont 4711",
			"keeper: GhostJoin 4711 pgid 4711 sid 0",
			"keeper: GhostExec 4711 [cc]",
			"keeper: GhostUser 4711 user 0/0/0 group -1/-1/-1",
			"keeper: GhostStop 4711 by SIGSTOP",
			"keeper: GhostSync 4711",
		}
		if !slices.Equal(s.lines, want) {
			t.Fatalf("got %q, want %q", s.lines, want)
		}
	}
}
