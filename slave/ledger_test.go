package slave

import (
	"slices"
	"testing"

	"bproc/wire"
)

func TestLedger(t *testing.T) {
	l := newLedger()
	expect := func(pids, starting, again []wire.PID) {
		t.Helper()
		gotPIDs, gotStarting, events := l.begin()
		var gotAgain []wire.PID
		for _, e := range events {
			gotAgain = append(gotAgain, e.PID)
		}
		if !slices.Equal(gotPIDs, pids) || !slices.Equal(gotStarting, starting) || !slices.Equal(gotAgain, again) {
			t.Errorf("begins with %v, starting %v, again %v, want %v, %v, %v", gotPIDs, gotStarting, gotAgain, pids, starting, again)
		}
	}
	expect(nil, nil, nil)
	l.launching(100)
	l.launching(101)
	l.tell([]wire.Event{{Kind: wire.EventSpawned, PID: 100}, {Kind: wire.EventSpawned, PID: 101, Stage: wire.StageExec, Errno: 2}})
	expect([]wire.PID{100, 101}, []wire.PID{100, 101}, []wire.PID{100, 101})
	l.confirm(1)
	expect([]wire.PID{100, 101}, []wire.PID{101}, []wire.PID{101})
	l.tell([]wire.Event{{Kind: wire.EventForked, PID: 2000000}, {Kind: wire.EventGrouped, PID: 2000000}, {Kind: wire.EventExited, PID: 100}})
	if n := l.processes(); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
	l.confirm(2)
	expect([]wire.PID{100, 2000000}, nil, []wire.PID{2000000, 100})
	l.confirm(0)
	expect([]wire.PID{100, 2000000}, nil, []wire.PID{2000000, 100})
	l.confirm(1 << 40) // more than was told
	expect([]wire.PID{2000000}, nil, nil)
}
