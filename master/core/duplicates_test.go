package core

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"bproc/wire"
)

// TestDuplicates has slaves of one identity connect while it has a session.
func TestDuplicates(t *testing.T) {
	s := newScript(t)
	s.inputs("node 0")
	sessions := 0
	come := func(when string, want error, logs int) {
		t.Helper()
		s.lines = nil
		sessions++
		got := s.comes(fmt.Sprint("s", sessions), 0, wire.Inventory{}, nil)
		logged := slices.DeleteFunc(s.lines, func(line string) bool { return line[:3] != "log" })
		if !errors.Is(got, want) || len(logged) != logs {
			t.Errorf("%s: got %v, want %v, and %d lines of log: %q", when, got, want, logs, logged)
		}
	}
	come("the first", nil, 0)
	come("a second", ErrDuplicate, 1)
	come("at once again", ErrDuplicate, 0)
	s.now = s.now.Add(duplicateNews)
	come("much later", ErrDuplicate, 1)
	s.inputs("cut s1")
	come("when the first is cut", nil, 1) // it is closed
}
