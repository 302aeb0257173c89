package core

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestStates compares all states and what follows from them with testdata/states.golden.
func TestStates(t *testing.T) {
	var b strings.Builder
	all := []nodeState{stateDown, stateBoot, stateUp, stateError, stateUnavailable, stateReboot, stateHalt, statePwroff, "by-bob"}
	if len(uses) != len(all)-1 {
		t.Errorf("%d states have a use, want %d", len(uses), len(all)-1)
	}
	for _, s := range all {
		fmt.Fprintf(&b, "%s: %s\n", s, []string{"by owner, group and mode", "root", "nobody"}[uses[s]])
		for _, on := range []stateEvent{nodeConnects, nodeReturns, setUpDone, setUpFails, powerFails, nodeLeaves, rebootAsked, haltAsked, powerOffAsked} {
			if next := s.after(on); next != s {
				fmt.Fprintf(&b, "\t%s: %s\n", on, next)
			}
		}
	}
	const golden = "testdata/states.golden"
	if flag.Lookup("update").Value.String() == "true" { // of package coretest
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
