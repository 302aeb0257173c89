package pid1

import (
	"slices"
	"testing"

	"bproc/wire"
)

// TestHangUpEnds has each look at a session find another process. The looks end all the same, and
// each process found is told once.
func TestHangUpEnds(t *testing.T) {
	const many, sid = 10_000, 60000
	var h hangUps
	h.init()
	h.put(sid)
	var found, told []wire.PID
	look := func() ([]wire.PID, error) {
		if len(found) < many {
			found = append(found, wire.PID(70000+len(found)))
		}
		return found, nil
	}
	session := func(wire.PID) wire.PID { return sid }
	if err := h.serve(t.Context(), look, session, func(pid wire.PID) { told = append(told, pid) }); err != nil {
		t.Fatal(err)
	}
	if len(found) == many {
		t.Errorf("it was looked for processes as long as there were new ones")
	}
	if !slices.Equal(told, found) {
		t.Errorf("told %v, want %v", told, found)
	}
}

// TestHangUpTogether asks for many sessions, and for more during a look. Each look serves all that
// were asked for before it.
func TestHangUpTogether(t *testing.T) {
	const sessions = 2000
	var h hangUps
	h.init()
	var pids []wire.PID
	for i := range wire.PID(2 * sessions) {
		pids = append(pids, 70000+i)
	}
	ask := func(from wire.PID) {
		for i := range wire.PID(sessions) {
			h.put(from + i)
		}
	}
	ask(70000)
	looks := 0
	look := func() ([]wire.PID, error) {
		if looks++; looks == 1 {
			ask(70000 + sessions)
		}
		return pids, nil
	}
	var told []wire.PID
	if err := h.serve(t.Context(), look, func(pid wire.PID) wire.PID { return pid }, func(pid wire.PID) { told = append(told, pid) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, pids) {
		t.Errorf("%d were told, want each of the %d once", len(told), len(pids))
	}
	if looks != 3 { // the second one finds none of the first sessions, the third none of the others
		t.Errorf("%d looks, want 3", looks)
	}
}
