package ghost

import (
	"runtime"
	"testing"

	"bproc/wire"
)

// TestStopsOfABirth counts the stops of a ghost until it has its command line: when it is born and
// when it is done. A stop costs the keeper more than the work that is done in it.
func TestStopsOfABirth(t *testing.T) {
	runtime.LockOSThread() // the tracer's thread; it ends with the test
	s := lone(t)
	s.remaps = true
	parent := start(t, 0, "sh")
	if err := s.adopt(&wire.GhostAdopt{PID: parent}); err != nil {
		t.Fatal(err)
	}
	const child wire.PID = 2900000
	s.owners.set(child, s)
	s.queue.list = []request{
		{msg: &wire.GhostFork{Parent: parent, Child: child}},
		{msg: &wire.GhostExec{PID: child, Argv: []string{"cc", "-c"}}},
	}
	s.serve()
	eventually(t, "it is in its loop", func() bool { s.poll(t); return callOf(t, child) == waitCall })
	text, err := readProc(child, "status")
	if err != nil {
		t.Fatal(err)
	}
	var waits [1]uint64
	if err := statusField(text, "voluntary_ctxt_switches:", 10, waits[:]); err != nil {
		t.Fatal(err)
	}
	if want := uint64(3); waits[0] > want {
		t.Errorf("it has waited %d times, want %d: its stops, and its loop", waits[0], want)
	}
	s.end(t, s.ghosts[child], wire.ExitStatus(0))
	eventually(t, "the child ends", func() bool { s.poll(t); return s.ghosts[child] == nil })
	s.end(t, s.ghosts[parent], wire.ExitStatus(0))
	wait(t, parent, 0)
}
