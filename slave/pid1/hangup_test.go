package pid1

import (
	"slices"
	"testing"

	"bproc/wire"
)

// TestHangUpEnds has each look at a session find another process. The looks end all the same, and
// each process found is told once.
func TestHangUpEnds(t *testing.T) {
	const many = 10_000
	var found, told []wire.PID
	look := func() ([]wire.PID, error) {
		if len(found) < many {
			found = append(found, wire.PID(70000+len(found)))
		}
		return found, nil
	}
	if err := eachOnce(look, func(pid wire.PID) bool { told = append(told, pid); return true }); err != nil {
		t.Fatal(err)
	}
	if len(found) == many {
		t.Errorf("it was looked for processes as long as there were new ones")
	}
	if !slices.Equal(told, found) {
		t.Errorf("told %v, want %v", told, found)
	}
}
